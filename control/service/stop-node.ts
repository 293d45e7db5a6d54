/** Stops a running node: by SIGTERM first, and only ever the process that really is the node. */

import process from "node:process";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { NodeFile } from "./node-file.ts";
import { until } from "./node-process.ts";
import { holdsHome, inspectNode } from "./stale-node-file.ts";

export interface StopOptions {
  /** Milliseconds until it must be gone. */
  readonly deadlineMs: number;
  /** Kills it when it is still there after the deadline. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Called about twenty times a second with the milliseconds waited so far. */
  readonly onWait?: (waitedMs: number) => void;
}

export interface StopResult {
  /** False when no node was running: there was nothing to do. */
  readonly was_running: boolean;
  readonly pid: number | null;
  /** It did not end by itself. */
  readonly killed: boolean;
}

/** Seconds beside the drain deadline within which a supervisor, too, would not kill it yet. */
const GRACE_MS = 30_000;
const KILLED_MS = 10_000;

/** How long a node may take that drains as configured. */
export function stopDeadlineMs(drainDeadlineMs: number): number {
  return drainDeadlineMs + GRACE_MS;
}

/** RUNTIME_STOP_TIMEOUT when it is still there after the deadline, RUNTIME_CONFLICT when its process cannot be found. */
export async function stopNode(home: string, options: StopOptions): Promise<StopResult> {
  const state = await inspectNode(home);
  if (state.state === "stopped") return { was_running: false, pid: null, killed: false };
  if (state.state === "busy") throw unknownHolder(home);
  const { node } = state;

  send(node, "SIGTERM");
  const began = performance.now();
  const gone = async (): Promise<boolean> => {
    options.onWait?.(performance.now() - began);
    return !(await holdsHome(home, node));
  };
  if (await until(gone, options)) return { was_running: true, pid: node.pid, killed: false };
  if (!options.force) {
    const seconds = Math.round(options.deadlineMs / 1_000);
    throw new RuntimeError("RUNTIME_STOP_TIMEOUT", `The node (process ${node.pid}) still runs after ${seconds} s.`, {
      hint: "It may still be ending its turns. Wait with --timeout SECONDS, or end it with --force.",
    });
  }
  // The number may have been given to another process while we waited.
  if (await holdsHome(home, node)) send(node, "SIGKILL");
  if (!(await until(gone, { ...options, deadlineMs: KILLED_MS }))) {
    throw new RuntimeError("RUNTIME_STOP_TIMEOUT", `The node (process ${node.pid}) did not end when it was killed.`);
  }
  return { was_running: true, pid: node.pid, killed: true };
}

export function unknownHolder(home: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `A process uses ${home}, but its process id is not known here.`, {
    hint: "It may be starting, a short-lived command, or in a container: try again, or stop it there.",
  });
}

function send(node: NodeFile, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(node.pid, signal);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ESRCH") return;
    if (code !== "EPERM") throw error;
    throw new RuntimeError("RUNTIME_FORBIDDEN", `The node (process ${node.pid}) belongs to another user.`, {
      cause: error,
      hint: "Stop it as that user, or as root.",
    });
  }
}
