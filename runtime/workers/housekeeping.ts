/**
 * What a node tidies at its start and once an hour: accepted messages whose turns ended long ago, and what `tasks` names. Nodes that
 * share a store all do so: each task may meet the same one of another node.
 */

import type { Database } from "../contracts/database.ts";
import { CairnError } from "../contracts/errors.ts";
import { TICKERS } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import type { Ticker, Tickers } from "./ticker.ts";

export interface HousekeepingDeps {
  readonly database: Database;
  readonly tickers: Tickers;
  readonly logger: Logger;
  /** Further work, each by its name. */
  readonly tasks: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>>;
}

const INTERVAL_MS = 3_600_000;
/** Ended messages are kept this long, so that a repeated delivery is still recognised. */
const KEEP_INBOX = "7 days";
const BATCH = 1_000;

export function createHousekeeping({ database, tickers, logger, tasks }: HousekeepingDeps): Ticker {
  /** Turns, steps and sent replies of an inbox row go with it; the transcript is never touched. */
  async function pruneInbox(signal: AbortSignal): Promise<number> {
    let pruned = 0;
    for (;;) {
      signal.throwIfAborted();
      const { count } = await database.query(
        `/* housekeeping:inbox */ delete from inbox where id in (
           select i.id from inbox i join turns t on t.inbox_id = i.id
           where i.done_at < now() - interval '${KEEP_INBOX}'
             and not exists (select 1 from outbox o where o.turn_id = t.id and o.state = 'pending')
           limit ${BATCH} for update of i skip locked)`,
      );
      pruned += count;
      if (count < BATCH) return pruned;
    }
  }

  return tickers.add({
    name: TICKERS.housekeeping,
    async run(signal) {
      let unavailable: CairnError | undefined;
      for (const [name, task] of Object.entries({ inbox: pruneInbox, ...tasks })) {
        signal.throwIfAborted();
        try {
          await task(signal);
        } catch (error) {
          if (error instanceof CairnError && error.retryable) unavailable ??= error;
          else logger.warn({ err: error, task: name }, "a housekeeping task failed; it is tried again in an hour");
        }
      }
      if (unavailable) throw unavailable;
    },
    intervalMs: INTERVAL_MS,
    logger,
  });
}
