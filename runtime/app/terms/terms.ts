import type { Database } from "../../contracts/database.ts";
import { countBatch } from "./count.ts";

/** Keeps the counts of words up with what was written. Searches find every row without it; they judge it better with it. */

export interface TermCounter {
  /**
   * Counts until nothing is left, another node counts, or, after a batch, the signal aborts. Answers the number of rows.
   * `onElsewhere` is called when another node counts: what that leaves is for the next run.
   */
  run(signal?: AbortSignal, onElsewhere?: () => void): Promise<number>;
  /**
   * The same where many rows wait, as in a store that has no worker, or was just restored. Call it after each search: it
   * looks now and then.
   */
  runIfBehind(): Promise<void>;
  /** Ends what `runIfBehind` has begun, after its batch. */
  stop(): void;
}

/** Words of one batch are counted together, so a large one is cheap; the embedded store does nothing else meanwhile. */
const BATCH: Readonly<Record<Database["backend"], number>> = { postgres: 5_000, embedded: 250 };
/** Looking is cheap but not free: at the first search, and then now and then. */
const SEARCHES_BETWEEN = 20;
/** A query counts so many rows itself in no time. */
const BEHIND = 200;

export function createTermCounter(database: Database): TermCounter {
  let searches = 0;
  let running: AbortController | null = null;

  async function run(signal?: AbortSignal, onElsewhere?: () => void): Promise<number> {
    let counted = 0;
    for (const kind of ["summary", "message"] as const) {
      for (;;) {
        const report = await countBatch(database, kind, BATCH[database.backend]);
        counted += report?.rows ?? 0;
        if (report === null) onElsewhere?.();
        if (signal?.aborted) return counted;
        if (report === null || !report.more) break;
      }
    }
    return counted;
  }

  return {
    run,
    async runIfBehind() {
      searches += 1;
      if (running !== null || searches % SEARCHES_BETWEEN !== 1) return;
      running = new AbortController();
      try {
        if (await isBehind(database)) await run(running.signal);
      } finally {
        running = null;
      }
    },
    stop: () => running?.abort(),
  };
}

async function isBehind(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ readonly waiting: number; readonly counted: number }>(
    `select (select last_value from messages_seq_seq)::float8 - counted as waiting, counted
     from (select coalesce((select counted_to from search_totals where kind = 'message'), 0)::float8 as counted) as totals`,
  );
  const { waiting = 0, counted = 0 } = rows[0] ?? {};
  return waiting >= Math.max(BEHIND, counted / 10);
}
