import type { Database } from "../../contracts/database.ts";
import { countBatch } from "./count.ts";

/** Keeps the counts of words up with what was written. Searches find every row without it; they judge it better with it. */

export interface TermCounter {
  /** Counts until nothing is left, another node counts, or the signal aborts. Answers how many rows it counted. */
  run(signal?: AbortSignal): Promise<number>;
}

/** Words of one batch are counted together, so a large one is cheap; the embedded store does nothing else meanwhile. */
const BATCH: Readonly<Record<Database["backend"], number>> = { postgres: 5_000, embedded: 250 };

export function createTermCounter(database: Database): TermCounter {
  return {
    async run(signal) {
      let counted = 0;
      for (const kind of ["summary", "message"] as const) {
        for (;;) {
          if (signal?.aborted) return counted;
          const report = await countBatch(database, kind, BATCH[database.backend]);
          counted += report?.rows ?? 0;
          if (report === null || !report.more) break;
        }
      }
      return counted;
    },
  };
}
