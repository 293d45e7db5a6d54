/**
 * A process of its own that loads one plugin and ends: one that exits, crashes or blocks while it is loaded takes this process with
 * it and not the node.
 */

import process from "node:process";
import { Worker } from "node:worker_threads";
import type { Logger } from "../../contracts/ports.ts";
import { LOAD_MS, type LoadRequest, READY, type TrialOutcome } from "./messages.ts";
import { openPlugin, provideApi, reasonOf } from "./open.ts";

/** A plugin that blocks is ended by the node; should that have ended, by this thread. */
const LONGEST_MS = LOAD_MS + 5_000;

const noLog: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => noLog };

process.once("disconnect", () => process.exit(1));
process.once("message", (request) => void attempt(request));
process.send?.(READY);

async function attempt(message: unknown): Promise<void> {
  new Worker(`setTimeout(() => process.kill(process.pid, "SIGKILL"), ${LONGEST_MS})`, { eval: true }).unref();
  provideApi();
  let outcome: TrialOutcome = { ok: true };
  try {
    // The node is the only one that sends anything.
    await openPlugin(message as LoadRequest, noLog);
  } catch (error) {
    outcome = { ok: false, reason: reasonOf(error) };
  }
  process.send?.(outcome, () => process.exit(0));
}

function nothing(): void {}
