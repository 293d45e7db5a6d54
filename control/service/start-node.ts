/** Starts the node of a deployment, in the background or in place of this process. */

import { join } from "node:path";
import { makePrivateDirectory } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { readPast } from "../logs/log-reader.ts";
import { visible } from "../output/visible.ts";
import type { Deployment } from "./deployment.ts";
import { endChild, letGo, type SpawnedNode, spawnNode, untilReady } from "./node-process.ts";
import { inspectNode } from "./stale-node-file.ts";

export interface Started {
  readonly pid: number;
  readonly url: string;
}

const END_MS = 15_000;

/**
 * RUNTIME_ALREADY_RUNNING, naming who is there. Where the modes of the home let nothing be read, the node itself refuses to be the
 * second one, after it has repaired them.
 */
export async function refuseSecondNode(home: string): Promise<void> {
  const state = await inspectNode(home).catch((error: unknown) => {
    if (codeOf(error) === "EACCES") return null;
    throw error;
  });
  if (state === null || state.state === "stopped") return;
  if (state.state === "running") {
    const { pid, url } = state.node;
    throw new RuntimeError("RUNTIME_ALREADY_RUNNING", `The node is already running: process ${pid}, ${url}.`, {
      hint: "Talk to it with `cairn chat`, or stop it with `cairn stop`.",
    });
  }
  throw new RuntimeError("RUNTIME_ALREADY_RUNNING", `Another process is using ${home}.`, {
    hint: "It may be a node that is starting, a short-lived command, or a container: try again, or set SERVICE_HOME to another directory.",
  });
}

interface StartOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly entry?: string;
}

/**
 * Resolves once the node is ready. Rejects with the error that the node reports, or with RUNTIME_START_FAILED; then, and
 * when the signal aborts, no process is left behind.
 */
export async function startDetached(
  deployment: Pick<Deployment, "dir" | "home">,
  options: StartOptions,
): Promise<Started> {
  const { node, url } = await startChild(deployment, options, false);
  letGo(node);
  return { pid: node.pid, url };
}

/** As `startDetached`, and the node ends with this process. What it prints is in its files. */
export function startAttached(
  deployment: Pick<Deployment, "dir" | "home">,
  options: StartOptions,
): Promise<{ readonly node: SpawnedNode; readonly url: string }> {
  return startChild(deployment, options, true);
}

async function startChild(
  { dir, home }: Pick<Deployment, "dir" | "home">,
  options: StartOptions,
  withParent: boolean,
): Promise<{ readonly node: SpawnedNode; readonly url: string }> {
  const logs = join(home, "logs");
  makePrivateDirectory(logs);
  const since = new Date();
  const node = await spawnNode({
    dir,
    home,
    detached: true,
    withParent,
    stderrFile: join(logs, "stderr.log"),
    ...(options.entry === undefined ? {} : { entry: options.entry }),
  });
  try {
    return { node, url: await untilReady(node, options) };
  } catch (error) {
    await endChild(node.child, END_MS);
    throw await withReason(error, logs, since);
  }
}

/** A node that was not ready in time may have said in its log what it was waiting for. */
async function withReason(error: unknown, logs: string, since: Date): Promise<unknown> {
  if (!(error instanceof RuntimeError) || error.code !== "RUNTIME_START_FAILED") return error;
  const { lines } = await readPast(logs, { level: "warn", since }, 1);
  for await (const { fields } of lines) {
    const said = [fields?.["msg"], fields?.["reason"]].filter((part) => typeof part === "string").join(": ");
    return new RuntimeError("RUNTIME_START_FAILED", `${error.message} Its log says: ${visible(said)}`, error.details);
  }
  return error;
}
