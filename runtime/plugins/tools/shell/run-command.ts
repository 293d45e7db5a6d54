/** Runs one launched command to its end, which is its own, its deadline's or an abort's; nothing of it stays behind. */

import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { commandDescriptors, START_DESCRIPTOR } from "./descriptors.ts";
import { createOutputWindow } from "./output-window.ts";
import { askToEnd, kill, type ProcessFamily } from "./process-family.ts";
import type { Launch } from "./sandbox.ts";

export interface RunOptions {
  readonly timeoutMs: number;
  readonly killGraceMs: number;
  readonly maxOutputBytes: number;
  /** Unique text that marks the command's processes. */
  readonly mark: string;
  readonly signal?: AbortSignal;
}

export interface CommandOutcome {
  /** Why it ended: by itself, by its deadline, by an abort. */
  readonly end: "exited" | "timeout" | "aborted";
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Standard output and error in the order in which they were written. */
  readonly output: string;
  /** The sandbox's own error output: empty unless it failed. */
  readonly launcherError: string;
}

const MARK_NAME = "CAIRN_COMMAND";
const LAUNCHER_ERROR_BYTES = 4_000;
const PIPE_CLOSE_MS = 1_000;

/** Rejects only when the program could not be started. The output so far is kept whatever the end was. */
export async function runCommand(launch: Launch, options: RunOptions): Promise<CommandOutcome> {
  await using descriptors = await commandDescriptors(launch.filter, launch.inherited);
  const child = spawn(launch.file, [...launch.args], {
    cwd: launch.cwd,
    env: { ...launch.env, [MARK_NAME]: options.mark },
    stdio: ["ignore", "pipe", "pipe", ...descriptors.beyondStandard],
    // A group of its own, so that no signal meant for it reaches the service and the other way round.
    detached: true,
    // The types have only three file descriptors.
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  // What could not be started may have no streams: without descriptors Node makes none.
  if (child.pid === undefined) await exited;
  letBegin(child);
  const output = createOutputWindow(options.maxOutputBytes);
  const launcherError = createOutputWindow(LAUNCHER_ERROR_BYTES);
  child.stdout.on("data", (chunk: Buffer) => output.add(chunk));
  child.stderr.on("data", (chunk: Buffer) => launcherError.add(chunk));
  const stop = stopReason(options);
  try {
    const first = await Promise.race([exited.then(() => "exited" as const), stop.reason]);
    const family: ProcessFamily = { leader: child.pid ?? 0, mark: `${MARK_NAME}=${options.mark}` };
    if (first !== "exited") {
      await askToEnd(family, launch.confined);
      await Promise.race([exited, delay(options.killGraceMs)]);
    }
    // Also after an orderly end: what a command left in the background ends with it. A sandbox's namespace does so by itself.
    if (first !== "exited" || !launch.confined)
      await kill(family, child.exitCode === null && child.signalCode === null);
    const { code, signal } = await exited;
    await Promise.race([closed, delay(PIPE_CLOSE_MS)]);
    return { end: first, exitCode: code, signal, output: output.render(), launcherError: launcherError.render() };
  } finally {
    stop.dispose();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Answers the launched shell. */
function letBegin(child: ChildProcess): void {
  const socket = child.stdio[START_DESCRIPTOR];
  if (!(socket instanceof Socket)) return;
  // It ended before it asked, or before it read the answer.
  socket.on("error", () => undefined);
  socket.once("data", () => socket.end("\n"));
}

/** Text that a model may read: without control sequences of terminals. */
export function readableOutput({ launcherError, output }: Pick<CommandOutcome, "launcherError" | "output">): string {
  return stripVTControlCharacters(`${launcherError}${output}`).replaceAll("\0", "\ufffd").trimEnd();
}

/** Settles with the reason to stop the command; disposed when it ended by itself. */
function stopReason(options: RunOptions) {
  const { promise: reason, resolve } = Promise.withResolvers<"timeout" | "aborted">();
  const timer = setTimeout(() => resolve("timeout"), options.timeoutMs);
  const onAbort = () => resolve("aborted");
  options.signal?.addEventListener("abort", onAbort, { once: true });
  if (options.signal?.aborted) onAbort();
  return {
    reason,
    dispose() {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
    },
  };
}
