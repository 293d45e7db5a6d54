import type { Database, Queryable } from "../../contracts/database.ts";

/** How compaction stands in the whole store, whatever node works on it. */

export interface CompactionStatus {
  /** When a run of any node ended; null when none ever did. */
  readonly last_run_at: Date | null;
  /** Why the model could not be used in the last run, else why the last conversation failed; null when all is well. */
  readonly last_error: string | null;
  /** Conversations that wait for their turn or are being summarized. */
  readonly due: number;
  /** Conversations that failed and are tried again. */
  readonly failing: number;
  readonly given_up: number;
}

/** Reads one row of each kind, however many conversations there are. */
export async function compactionStatus(database: Queryable): Promise<CompactionStatus> {
  const { rows } = await database.query<CompactionStatus>(
    `select status.last_run_at, coalesce(status.last_error, failure.error) as last_error,
       coalesce(counts.due, 0)::float8 as due, coalesce(counts.failing, 0)::float8 as failing,
       coalesce(counts.given_up, 0)::float8 as given_up
     from (select 1) as one
     left join compaction_counts counts on true
     left join compaction_status status on true
     left join lateral (
       select error from compaction_work where error is not null order by coalesce(failed_at, due_at) desc limit 1
     ) as failure on true`,
  );
  return rows[0] ?? { last_run_at: null, last_error: null, due: 0, failing: 0, given_up: 0 };
}

const RECOUNT_TIMEOUT_MS = 60_000;

/** Counts from the work itself, beside everybody who works: should the counts ever be wrong, they are right afterwards. */
export async function recountCompaction(database: Database): Promise<void> {
  await database.transaction(
    async (tx) => {
      await tx.query("insert into compaction_counts (due, failing, given_up) values (0, 0, 0) on conflict do nothing");
      // A change of the work that is not counted yet waits for the lock of this row, and is counted afterwards.
      await tx.query("select 1 from compaction_counts for update");
      await tx.query(
        `update compaction_counts as counts set due = work.due, failing = work.failing, given_up = work.given_up
         from (
           select count(*) filter (where due_at is not null and attempts = 0) as due,
             count(*) filter (where due_at is not null and attempts > 0) as failing,
             count(*) filter (where failed_at is not null) as given_up
           from compaction_work
         ) as work`,
      );
    },
    { statementTimeoutMs: RECOUNT_TIMEOUT_MS, durable: false },
  );
}
