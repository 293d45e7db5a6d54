/** Starts the service as a child process, and ends it. */

import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { constants } from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { errorFromBody } from "../output/failure.ts";
import { runtimeEntry } from "./runtime-entry.ts";

export interface NodeSpawn {
  /** The deployment directory and the home directory, absolute: the service finds them where the command has found them. */
  readonly dir: string;
  readonly home: string;
  /** Short-lived: on loopback, without channels, workers and turns. */
  readonly maintenance?: boolean;
  /** With `maintenance`: the configuration, in place of the directory's cairn.yaml. */
  readonly config?: string | undefined;
  /** Tries a start beside the node that listens on this port, and ends. */
  readonly rehearse?: number;
  /** In a session of its own: what a terminal sends to its programs does not reach it. */
  readonly detached?: boolean;
  /** Drains and ends when this process has gone, however it went. */
  readonly withParent?: boolean;
  /** Gets what the process prints outside its log; absent: only the last of it is kept. */
  readonly stderrFile?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The program; default: the service of this package. */
  readonly entry?: string;
}

export interface SpawnedNode {
  readonly pid: number;
  readonly child: ChildProcess;
  /** The last of what it printed on standard error. */
  readonly lastWords: () => Promise<string>;
}

const KEPT_WORDS = 8_192;
const POLL_MS = 50;
const LAST_WORDS_MS = 1_000;

export function runtimeArgs(
  options: Pick<NodeSpawn, "dir" | "home" | "maintenance" | "config" | "rehearse" | "withParent" | "entry">,
): string[] {
  const { dir, home, maintenance, config, rehearse, withParent, entry = runtimeEntry() } = options;
  return [
    entry,
    "--dir",
    dir,
    "--home",
    home,
    ...(maintenance ? ["--maintenance"] : []),
    ...(config === undefined ? [] : ["--config", config]),
    ...(rehearse === undefined ? [] : ["--rehearse", String(rehearse)]),
    ...(withParent ? ["--with-parent"] : []),
  ];
}

/** Never returns: this process becomes the service, with the same number, terminal and signals. */
export function becomeNode(options: Pick<NodeSpawn, "dir" | "home" | "entry">): never {
  if (!process.execve) {
    throw new RuntimeError("RUNTIME_INTERNAL", "This platform cannot run the service in the foreground.", {
      hint: "Use `cairn start --detach`.",
    });
  }
  return process.execve(process.execPath, [process.execPath, ...runtimeArgs(options)], process.env);
}

export async function spawnNode(options: NodeSpawn): Promise<SpawnedNode> {
  const file = options.stderrFile === undefined ? null : await open(options.stderrFile, "w", 0o600);
  try {
    const child = spawn(process.execPath, runtimeArgs(options), {
      detached: options.detached ?? false,
      // The directory in which the command was typed may be removed while the node lives.
      cwd: options.dir,
      stdio: ["ignore", "ignore", file?.fd ?? "pipe", "ipc"],
      env: options.env ?? process.env,
    });
    let words = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-KEPT_WORDS);
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    const { stderrFile } = options;
    return {
      pid: child.pid ?? 0,
      child,
      lastWords: async () =>
        (stderrFile === undefined ? words : await readFile(stderrFile, "utf8")).slice(-KEPT_WORDS).trim(),
    };
  } finally {
    await file?.close();
  }
}

/**
 * Resolves with the node's URL once it is ready. Rejects with the error that it reports, with RUNTIME_START_FAILED when it
 * ends without a message or takes longer than the deadline, or with the signal's reason; the process is left as it is.
 */
export async function untilReady(
  node: SpawnedNode,
  { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<string> {
  const { child } = node;
  const ended = new AbortController();
  try {
    return await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => {
        const seconds = Math.round(deadlineMs / 1_000);
        reject(new NotReady(`The node was not ready after ${seconds} s.`));
      }, deadlineMs);
      ended.signal.addEventListener("abort", () => clearTimeout(timer));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: ended.signal });
      if (signal.aborted) reject(signal.reason);
      child.on("message", (message) => {
        const said = readMessage(message);
        if (said === null) return;
        if (said.type === "ready") resolve(said.url);
        else reject(said.error);
      });
      const onEnd = (code: number | null, name: NodeJS.Signals | null): void => {
        reject(new NotReady(`The node ended with ${endOf(code, name)} before it was ready.`));
      };
      // What it said last arrives after "exit" and before "close", which a descendant of it could hold up.
      const onExit = (code: number | null, name: NodeJS.Signals | null): void => {
        const grace = setTimeout(onEnd, LAST_WORDS_MS, code, name);
        ended.signal.addEventListener("abort", () => clearTimeout(grace));
      };
      child.once("close", onEnd);
      child.once("exit", onExit);
      // Else its end, which may be hours away, would start the grace, and hold up the end of this process by it.
      ended.signal.addEventListener("abort", () => child.off("close", onEnd).off("exit", onExit));
    });
  } catch (error) {
    throw error instanceof NotReady ? await startFailed(error, node) : error;
  } finally {
    ended.abort();
    child.removeAllListeners("message");
  }
}

/** SIGTERM, and SIGKILL when it is still there after the deadline. Resolves once it is gone. */
export async function endChild(child: ChildProcess, deadlineMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  try {
    await gone;
  } finally {
    clearTimeout(timer);
  }
}

/** Lets a detached child live on by itself: this process no longer waits for it. */
export function letGo({ child }: SpawnedNode): void {
  if (child.connected) child.disconnect();
  child.unref();
}

/** Asks until the answer is true; false after the deadline. Rejects with the signal's reason. */
export async function until(
  question: () => Promise<boolean>,
  { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  while (!(await question())) {
    signal.throwIfAborted();
    if (performance.now() >= end) return false;
    await sleep(Math.min(POLL_MS, Math.max(1, end - performance.now())), undefined, { signal }).catch(() => undefined);
  }
  return true;
}

function readMessage(message: unknown): { type: "ready"; url: string } | { type: "failed"; error: Error } | null {
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  if (message.type === "ready" && "url" in message && typeof message.url === "string") {
    return { type: "ready", url: message.url };
  }
  if (message.type !== "failed") return null;
  const error = "error" in message ? errorFromBody(message.error) : null;
  return {
    type: "failed",
    error:
      error ?? new RuntimeError("RUNTIME_START_FAILED", "The node ended before it was ready and reported no reason."),
  };
}

class NotReady extends Error {}

async function startFailed({ message }: NotReady, node: SpawnedNode): Promise<RuntimeError> {
  const words = await node.lastWords();
  return new RuntimeError("RUNTIME_START_FAILED", words === "" ? message : `${message} It said:\n${words}`, {
    hint: "See `cairn logs`.",
  });
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `signal ${signal} (${constants.signals[signal]})`;
  return `exit code ${code ?? "unknown"}`;
}
