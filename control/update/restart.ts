/** Restarts the node of this machine with another program: through the service manager that runs it, else by itself. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { type Deployment, drainDeadlineMs, tokenFor } from "../service/deployment.ts";
import { announcedEndpoint, clientOf } from "../service/node-client.ts";
import { until } from "../service/node-process.ts";
import { inspectNode } from "../service/stale-node-file.ts";
import { startDetached } from "../service/start-node.ts";
import { stopDeadlineMs, stopNode } from "../service/stop-node.ts";
import { SIGNATURE } from "../service-manager/install.ts";
import { userUnits } from "../service-manager/unit-folders.ts";

/** What runs the node. */
export type Keeper =
  | { readonly kind: "own" }
  | { readonly kind: "systemd"; readonly unit: string; readonly scope: "system" | "user" };

export interface RestartOptions {
  readonly deployment: Deployment;
  readonly keeper: Keeper;
  /** Directory of the program's package.json. */
  readonly program: string;
  /** Milliseconds until it must be ready. */
  readonly readyMs: number;
  readonly signal: AbortSignal;
}

/** Milliseconds of `systemctl restart`, in addition to the time that the node may take to drain. */
const MANAGER_MS = 60_000;

/** The unit that a process belongs to, by its control group; null for one that a session runs. Pure. */
export function unitOf(cgroup: string): { readonly unit: string; readonly scope: "system" | "user" } | null {
  const path = cgroup
    .split("\n")
    .map((line) => line.split(":").slice(2).join(":"))
    .find((one) => one.endsWith(".service"));
  if (path === undefined) return null;
  return { unit: basename(path), scope: /\/user@\d+\.service\/./.test(path) ? "user" : "system" };
}

/** A unit counts when `service install` wrote it: a node that was started from within another service is its own. */
export async function keeperOf(
  pid: number,
  roots: { readonly proc: string; readonly etc: string; readonly userUnits: string } = places(),
): Promise<Keeper> {
  const cgroup = await readFile(join(roots.proc, String(pid), "cgroup"), "utf8").catch(() => "");
  const found = unitOf(cgroup);
  if (found === null) return { kind: "own" };
  const folder = found.scope === "user" ? roots.userUnits : join(roots.etc, "systemd/system");
  const unit = await readFile(join(folder, found.unit), "utf8").catch(() => "");
  return unit.includes(SIGNATURE) ? { kind: "systemd", ...found } : { kind: "own" };
}

/** Resolves once the node is ready. Errors of `stopNode` and `startDetached`; RUNTIME_START_FAILED. */
export async function restartNode(options: RestartOptions): Promise<void> {
  const { deployment, keeper, program, readyMs, signal } = options;
  const deadlineMs = stopDeadlineMs(await drainDeadlineMs(deployment));
  if (keeper.kind === "own") {
    await stopNode(deployment.home, { deadlineMs, force: false, signal });
    await startDetached(deployment, {
      deadlineMs: readyMs,
      signal,
      entry: join(program, "dist", "runtime", "main.js"),
    });
    return;
  }
  const words = ["systemctl", ...(keeper.scope === "user" ? ["--user"] : []), "restart", keeper.unit];
  const [command = "", ...args] = words;
  const result = await execa(command, args, {
    reject: false,
    all: true,
    timeout: deadlineMs + MANAGER_MS,
    stdin: "ignore",
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  if (result.failed) {
    throw new RuntimeError("RUNTIME_START_FAILED", `\`${words.join(" ")}\` failed: ${(result.all ?? "").trim()}`);
  }
  const token = await tokenFor(deployment);
  let refused: RuntimeError | null = null;
  const ready = async (): Promise<boolean> => {
    const state = await inspectNode(deployment.home);
    if (state.state !== "running") return false;
    try {
      return await clientOf(announcedEndpoint(state.node), { token }).ready({ signal });
    } catch (error) {
      if (error instanceof RuntimeError && error.code === "RUNTIME_CERTIFICATE_REFUSED") refused = error;
      return false;
    }
  };
  if (await until(ready, { deadlineMs: readyMs, signal })) return;
  if (refused !== null) throw refused;
  throw new RuntimeError("RUNTIME_START_FAILED", `The node was not ready after ${Math.round(readyMs / 1_000)} s.`, {
    hint: "See `cairn logs`.",
  });
}

function places() {
  return { proc: "/proc", etc: "/etc", userUnits: userUnits(homedir(), process.env["XDG_CONFIG_HOME"]) };
}
