/** Steps of the test command and of the quick check: a Node process each, which ends with all that it started. */

import { spawn } from "node:child_process";
import process from "node:process";
import { ROOT } from "./paths.js";

/** No step may hang for ever. In milliseconds: four times what all of `npm test` takes on a quiet machine of two processors. */
const STEP_DEADLINE_MS = 48 * 60_000;

export interface StepOptions {
  /** Keeps what it prints, instead of showing it. */
  readonly capture?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds. */
  readonly deadline?: number;
  readonly signal: AbortSignal;
}

/** Runs Node with `args`. The child leads a process group of its own, which ends with it: tests start processes, too. */
export function runStep(
  args: readonly string[],
  { capture = false, env = process.env, deadline = STEP_DEADLINE_MS, signal }: StepOptions,
): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const stdio = capture ? "pipe" : "inherit";
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", stdio, stdio], detached: true });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const end = (): void => signalGroup(child.pid, "SIGTERM");
    const late = setTimeout(() => {
      say(`${args[0]}: ended after ${deadline / 60_000} minutes`);
      signalGroup(child.pid, "SIGKILL");
    }, deadline);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(late);
      signal.removeEventListener("abort", end);
      signalGroup(child.pid, "SIGTERM");
      resolve({ code: code ?? 1, output });
    });
  });
}

/** A check: its output is shown only when it fails. True when it passed. */
export async function check(name: string, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  const started = performance.now();
  const { code, output } = await runStep(args, { capture: true, signal });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (code !== 0) process.stdout.write(output);
  say(`${name}: ${code === 0 ? "passed" : "FAILED"} (${seconds} s)`);
  return code === 0;
}

/** Aborted by the signals that end a command. */
export function untilEnded(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended.
  }
}
