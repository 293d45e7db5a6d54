/** Tries a plugin in a process of its own: one that exits, crashes or blocks while it is loaded takes nothing else with it. */

import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import {
  LOAD_MS,
  type LoadRequest,
  overdue,
  reasonOf,
  START_MS,
  type TrialOutcome,
  type TrialRequest,
} from "../contracts/plugin-trial.ts";
import { isRecord } from "../contracts/values.ts";

/** What the process says; where it ends without a word, how it ended. Rejects with nothing but the signal's reason. */
export async function tryPlugin(
  request: LoadRequest,
  signal: AbortSignal,
  deadlineMs: number = LOAD_MS,
): Promise<TrialOutcome> {
  const { promise, resolve } = Promise.withResolvers<TrialOutcome>();
  const failed = (reason: string) => resolve({ ok: false, reason });
  const program = new URL(`../plugins/loader/trial${extname(import.meta.url)}`, import.meta.url);
  const child = fork(fileURLToPath(program), [], {
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    killSignal: "SIGKILL",
    signal,
  });
  const nonce = randomUUID();
  let timer = setTimeout(() => failed("the process that tries it does not start"), START_MS);
  // A failure to start, or the signal's.
  child.on("error", (error) => failed(reasonOf(error)));
  // The first message comes before the plugin's code is there. Later ones without the nonce are the plugin's own.
  child.once("message", () => {
    clearTimeout(timer);
    timer = setTimeout(() => failed(overdue(deadlineMs)), deadlineMs);
    child.on("message", (message) => {
      if (isRecord(message) && message["nonce"] === nonce) resolve(outcomeOf(message["outcome"]));
    });
    child.send({ nonce, request } satisfies TrialRequest);
  });
  child.once("exit", (code, killedBy) => {
    failed(killedBy === null ? `it ends its process with code ${code}` : `its process is ended by ${killedBy}`);
  });
  try {
    const outcome = await promise;
    signal.throwIfAborted();
    return outcome;
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
  }
}

function outcomeOf(message: unknown): TrialOutcome {
  if (!isRecord(message)) return { ok: false, reason: "it cannot be loaded" };
  if (message["ok"] === true) return { ok: true, names: namesIn(message["names"]) };
  return { ok: false, reason: typeof message["reason"] === "string" ? message["reason"] : "it cannot be loaded" };
}

function namesIn(names: unknown): string[] {
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}
