/**
 * A process of its own that loads one plugin and ends: one that exits, crashes or blocks while it is loaded takes this process with
 * it and not the node.
 */

import process from "node:process";
import { Worker } from "node:worker_threads";
import {
  LOAD_MS,
  type LoadRequest,
  READY,
  reasonOf,
  type TrialOutcome,
  type TrialRequest,
} from "../../contracts/plugin-trial.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isRecord } from "../../contracts/values.ts";
import { openPlugin, provideApi } from "./open.ts";

/** A plugin that blocks is ended by the node; should that have ended, by this thread. */
const LONGEST_MS = LOAD_MS + 5_000;

const noLog: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => noLog };

process.once("disconnect", () => process.exit(1));
process.once("message", (request) => void attempt(request));
process.send?.(READY);

async function attempt(message: unknown): Promise<void> {
  new Worker(`setTimeout(() => process.kill(process.pid, "SIGKILL"), ${LONGEST_MS})`, { eval: true }).unref();
  provideApi();
  // The one that has started this process is the only one that sends anything.
  const { nonce, request } = message as TrialRequest;
  let outcome: TrialOutcome;
  try {
    outcome = { ok: true, names: namesOf(request, await openPlugin(request, noLog)) };
  } catch (error) {
    outcome = { ok: false, reason: reasonOf(error) };
  }
  process.send?.({ nonce, outcome }, () => process.exit(0));
}

/** Their shapes were checked when they were made. */
function namesOf({ kind }: LoadRequest, made: readonly unknown[]): string[] {
  if (kind !== "tool" && kind !== "hook") return [];
  return made.flat().flatMap((one) => (isRecord(one) ? [String(one["name"])] : []));
}

function nothing(): void {}
