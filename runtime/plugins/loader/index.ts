/** Loads plugins of other people: first in a process of its own, then in the node. */

import { fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../contracts/ports.ts";
import { isRecord } from "../../contracts/values.ts";
import { LOAD_MS, type LoadRequest, READY, START_MS, type TrialOutcome } from "./messages.ts";
import { openPlugin, reasonOf } from "./open.ts";

export type { LoadRequest, PlainNeeds } from "./messages.ts";
export { provideApi } from "./open.ts";

export type LoadOutcome =
  | { readonly made: readonly unknown[]; readonly reason: null }
  | { readonly made: null; readonly reason: string };

export interface LoadDeps {
  readonly logger: Logger;
  /** Of the node's end. */
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
}

/** Never rejects, but with the signal's reason. */
export async function loadPlugin(request: LoadRequest, deps: LoadDeps): Promise<LoadOutcome> {
  const { logger, signal, deadlineMs = LOAD_MS } = deps;
  const tried = await trial(request, signal, deadlineMs);
  signal.throwIfAborted();
  if (!tried.ok) return { made: null, reason: tried.reason };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(overdue(deadlineMs))), deadlineMs);
  try {
    return { made: await Promise.race([openPlugin(request, logger), late.promise]), reason: null };
  } catch (error) {
    return { made: null, reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** What the process says; where it ends without a word, how it ended. */
function trial(request: LoadRequest, signal: AbortSignal, deadlineMs: number): Promise<TrialOutcome> {
  const { promise, resolve } = Promise.withResolvers<TrialOutcome>();
  const failed = (reason: string) => resolve({ ok: false, reason });
  const child = fork(fileURLToPath(new URL(`./trial${extname(import.meta.url)}`, import.meta.url)), [], {
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    killSignal: "SIGKILL",
    signal,
  });
  let timer = setTimeout(() => failed("the process that tries it does not start"), START_MS);
  // A failure to start, or the signal's.
  child.on("error", (error) => failed(reasonOf(error)));
  child.on("message", (message) => {
    if (message !== READY) return resolve(outcomeOf(message));
    clearTimeout(timer);
    timer = setTimeout(() => failed(overdue(deadlineMs)), deadlineMs);
    child.send(request);
  });
  child.once("exit", (code, killedBy) => {
    failed(killedBy === null ? `it ends its process with code ${code}` : `its process is ended by ${killedBy}`);
  });
  return promise.finally(() => {
    clearTimeout(timer);
    child.kill("SIGKILL");
  });
}

/** A plugin may send messages itself: they are no outcome. */
function outcomeOf(message: unknown): TrialOutcome {
  if (!isRecord(message)) return { ok: false, reason: "it sends messages while it is loaded" };
  if (message["ok"] === true) return { ok: true };
  return { ok: false, reason: typeof message["reason"] === "string" ? message["reason"] : "it cannot be loaded" };
}

function overdue(ms: number): string {
  return `it takes longer than ${ms / 1_000} s to be loaded`;
}
