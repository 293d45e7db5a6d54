/** `capture backfill | flush`: sessions from before the hook was installed, and what waits in its spool. */

import { captureDatabase, sessionsIn } from "../../runtime/client/hook/capture-database.ts";
import { captureFile } from "../../runtime/client/hook/capture-file.ts";
import { Cursors } from "../../runtime/client/hook/cursors.ts";
import {
  type Machine,
  openCodeDatabases,
  sessionFiles,
  sessionPlaces,
} from "../../runtime/client/hook/find-sessions.ts";
import { describeProblem } from "../../runtime/client/hook/run.ts";
import { capturePaths } from "../../runtime/client/hook/settings.ts";
import type { ReplayReport } from "../../runtime/client/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { hookClient } from "./access.ts";
import type { Harness } from "./harnesses.ts";

export interface BackfillResult {
  readonly harness: Harness;
  readonly sessions: number;
  /** Events that were sent; those that the node had already count too. */
  readonly events: number;
  /** Sessions that could not be read, with the reason. */
  readonly failed: readonly { readonly session: string; readonly reason: string }[];
  /** Files that wait in the spool, because the node did not take them. */
  readonly waiting: number;
}

export interface BackfillOptions {
  readonly home: string;
  readonly machine: Machine;
  readonly signal: AbortSignal;
  /** Called for each session, and with warnings for the user. */
  readonly onLine: (line: string) => void;
}

/** Everything that the harness still has on this machine. RUNTIME_NOT_FOUND when it has nothing. */
export async function backfill(harness: Harness, options: BackfillOptions): Promise<BackfillResult> {
  const { home, machine, signal, onLine } = options;
  const client = await hookClient(home, (problem) => onLine(describeProblem(problem)));
  const tools = { client, cursors: new Cursors(capturePaths(home).cursors), signal };
  const works =
    harness === "opencode"
      ? await databaseWorks(machine, tools)
      : (await sessionFiles(harness, machine)).map((path) => ({
          session: path,
          run: () => captureFile({ harness, path, ...tools }),
        }));
  if (works.length === 0) {
    const places = sessionPlaces(harness, machine).join(", ");
    throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no session of ${harness} in ${places}.`);
  }
  const failed: { session: string; reason: string }[] = [];
  let events = 0;
  for (const [n, { session, run }] of works.entries()) {
    signal.throwIfAborted();
    try {
      const sent = (await run()) ?? 0;
      events += sent;
      if (sent > 0) onLine(`${n + 1}/${works.length} ${session}: ${sent} events`);
    } catch (error) {
      failed.push({ session, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { harness, sessions: works.length, events, failed, waiting: (await client.status()).waiting };
}

export interface FlushResult extends ReplayReport {
  /** Files from `dead/` that wait again. */
  readonly requeued: number;
}

/** Delivers all that waits, oldest first; with `dead`, first lets what the node refused wait again. */
export async function flush(
  home: string,
  options: { readonly dead: boolean; readonly signal: AbortSignal; readonly onLine: (line: string) => void },
): Promise<FlushResult> {
  const client = await hookClient(home, (problem) => options.onLine(describeProblem(problem)));
  const requeued = options.dead ? await client.requeueDead() : 0;
  const report = await client.replay({ limit: Number.POSITIVE_INFINITY, signal: options.signal });
  return { ...report, requeued };
}

type Tools = Pick<Parameters<typeof captureDatabase>[0], "client" | "cursors" | "signal">;

async function databaseWorks(machine: Machine, tools: Tools) {
  const works: { session: string; run: () => Promise<number | null> }[] = [];
  for (const path of await openCodeDatabases(machine)) {
    try {
      for (const session of await sessionsIn(path)) {
        works.push({ session: `${path} ${session}`, run: () => captureDatabase({ path, session, ...tools }) });
      }
    } catch (error) {
      // Reported with the others that could not be read.
      works.push({ session: path, run: () => Promise.reject(error) });
    }
  }
  return works;
}
