import type { Queryable } from "../../contracts/database.ts";

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

export async function compactionStatus(database: Queryable): Promise<CompactionStatus> {
  const { rows } = await database.query<CompactionStatus>(
    `select status.last_run_at, coalesce(status.last_error, work.error) as last_error,
       coalesce(work.due, 0)::int as due, coalesce(work.failing, 0)::int as failing, coalesce(work.given_up, 0)::int as given_up
     from (
       select count(*) filter (where due_at is not null and attempts = 0) as due,
         count(*) filter (where due_at is not null and attempts > 0) as failing,
         count(*) filter (where failed_at is not null) as given_up,
         (array_agg(error order by coalesce(failed_at, due_at) desc) filter (where error is not null))[1] as error
       from compaction_work
     ) as work
     left join compaction_status status on true`,
  );
  return rows[0] ?? { last_run_at: null, last_error: null, due: 0, failing: 0, given_up: 0 };
}
