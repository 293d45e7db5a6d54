import type { Queryable } from "../../contracts/database.ts";
import type { RetryFailedOptions, RetryFailedReport } from "../../contracts/jobs.ts";
import { RELEASED } from "../claims.ts";

/** Conversations that have used up their attempts, for an operator: to the queue `compact` they are what dead jobs are to the others. */

export interface GivenUpConversations {
  readonly failed: number;
  /** Of the conversation that was given up last; null where there is none. */
  readonly last_error: string | null;
}

export async function givenUpConversations(database: Queryable): Promise<GivenUpConversations> {
  const { rows } = await database.query<GivenUpConversations>(
    `select coalesce((select given_up from compaction_counts), 0)::float8 as failed,
       (select error from compaction_work where failed_at is not null order by failed_at desc limit 1) as "last_error"`,
  );
  return rows[0] ?? { failed: 0, last_error: null };
}

/** Makes them due now, as if they had never failed. The pattern is PostgreSQL's; the caller has tried it. */
export async function retryConversations(
  database: Queryable,
  { errorPattern, dryRun = false }: RetryFailedOptions,
): Promise<RetryFailedReport> {
  const matching = "failed_at is not null and ($1::text is null or coalesce(error, '') ~* $1)";
  const revive = `update compaction_work set attempts = 0, due_at = now(), failed_at = null, error = null,
    ${RELEASED} where ${matching} returning 1`;
  const { rows } = await database.query<{ matched: number }>(
    dryRun
      ? `select count(*)::int as matched from compaction_work where ${matching}`
      : `with revived as (${revive}) select count(*)::int as matched from revived`,
    [errorPattern ?? null],
  );
  const matched = rows[0]?.matched ?? 0;
  return { matched, retried: matched, skipped: 0 };
}
