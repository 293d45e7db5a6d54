import type { Database } from "../../contracts/database.ts";
import type { RetryFailedOptions, RetryFailedReport } from "../../contracts/jobs.ts";
import { RELEASED } from "../claims.ts";
import { NOTHING_TO_EMBED } from "./encode-rows.ts";

/**
 * Rows that have used up their attempts, for an operator: to the queue `embed` they are what dead jobs are to the others. A
 * row without any text is not among them, because no attempt can mend it, and neither are those of a model that was replaced.
 */

const GIVEN_UP = `work.failed_at is not null and work.error is distinct from $1
  and work.model_id >= coalesce((select id from embedding_models where current), 0)`;

export interface GivenUp {
  readonly failed: number;
  /** Of the row that was given up last; null where there is none. */
  readonly last_error: string | null;
}

export async function givenUpRows(database: Database): Promise<GivenUp> {
  const { rows } = await database.query<GivenUp>(
    `select count(*)::int as failed, (array_agg(error order by failed_at desc))[1] as "last_error"
       from embedding_work as work where ${GIVEN_UP}`,
    [NOTHING_TO_EMBED],
  );
  return rows[0] ?? { failed: 0, last_error: null };
}

/** Makes them due now, as if they had never failed. The pattern is PostgreSQL's; the caller has tried it. */
export async function retryGivenUp(
  database: Database,
  { errorPattern, dryRun = false }: RetryFailedOptions,
): Promise<RetryFailedReport> {
  const matching = `${GIVEN_UP} and ($2::text is null or coalesce(work.error, '') ~* $2)`;
  const revive = `update embedding_work as work set attempts = 0, due_at = now(), failed_at = null, error = null,
    ${RELEASED} where ${matching} returning 1`;
  const { rows } = await database.query<{ matched: number }>(
    dryRun
      ? `select count(*)::int as matched from embedding_work as work where ${matching}`
      : `with revived as (${revive}) select count(*)::int as matched from revived`,
    [NOTHING_TO_EMBED, errorPattern ?? null],
  );
  const matched = rows[0]?.matched ?? 0;
  return { matched, retried: matched, skipped: 0 };
}
