import type { Database } from "../../contracts/database.ts";
import { TICKERS, type WorkState } from "../../contracts/jobs.ts";
import type { Visibility } from "../../contracts/memory.ts";
import { MOST_COUNTED } from "../../domain/summaries/steps.ts";
import { type CompactionStatus, compactionStatus } from "../compaction/status.ts";
import { schemaVersion } from "../migrate.ts";
import type { QueueAdmin } from "../queue-admin.ts";
import { embeddingTable } from "./embedding-tables.ts";
import { visible } from "./filters.ts";
import { Values } from "./sql.ts";

/** memory_stats: how much there is, how much of it is embedded and summarized, and how its background work is doing. */

export interface MemoryStats {
  readonly messages: { readonly total: number; readonly embedded: number; readonly coverage: number };
  /** Messages that wait for a vector of the current model, without those that were given up; 0 when there is no model. */
  readonly embedding_queue_depth: number;
  readonly unsummarized: { readonly total: number; readonly conversations_over_threshold: number };
  readonly summaries: {
    readonly leaf: number;
    readonly branch: number;
    readonly root: number;
    readonly max_depth: number;
  };
  /** Of the whole store, whatever agent is asked for; the error is one that the caller may see. */
  readonly compaction: Omit<CompactionStatus, "last_run_at"> & { readonly last_run_at: string | null };
  /** Of the whole store; errors are only for callers that may see everything. */
  readonly queues: readonly WorkState[];
  readonly database: {
    readonly backend: Database["backend"];
    readonly schema_version: number | null;
    readonly size_bytes: number;
  };
}

/** Everything is counted; no request waits for it. */
const STATEMENT_TIMEOUT_MS = 20_000;

interface Counts {
  readonly total: number;
  readonly embedded: number;
  readonly embeddable: number;
  /** Have no vector and will get none. */
  readonly given_up: number;
  readonly unsummarized: number;
  readonly over_threshold: number;
  readonly leaf: number;
  readonly branch: number;
  readonly root: number;
  readonly max_depth: number;
  readonly last_summary_at: Date | null;
  readonly size_bytes: number;
}

export async function memoryStats(
  database: Database,
  jobs: Pick<QueueAdmin, "states"> | undefined,
  request: { readonly agent?: string | undefined; readonly visibility: Visibility },
): Promise<MemoryStats> {
  const { rows: models } = await database.query<{ id: number }>("select id from embedding_models where current");
  const counts = await database.transaction((tx) => tx.query<Counts>(...countStatement(models[0]?.id, request)), {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const [states, version, status] = await Promise.all([
    jobs?.states() ?? [],
    schemaVersion(database),
    compactionStatus(database),
  ]);
  const { queues, ...compaction } = await withoutOthersErrors(database, request.visibility, {
    ...status,
    last_error: status.last_error ?? states.find(({ queue }) => queue === TICKERS.compact)?.last_error ?? null,
    queues: states,
  });
  const count = counts.rows[0];
  const total = count?.total ?? 0;
  const embedded = count?.embedded ?? 0;
  return {
    messages: { total, embedded, coverage: total === 0 ? 0 : embedded / total },
    embedding_queue_depth: models.length === 0 ? 0 : waitingOf(count),
    unsummarized: { total: count?.unsummarized ?? 0, conversations_over_threshold: count?.over_threshold ?? 0 },
    summaries: {
      leaf: count?.leaf ?? 0,
      branch: count?.branch ?? 0,
      root: count?.root ?? 0,
      max_depth: count?.max_depth ?? 0,
    },
    compaction: {
      ...compaction,
      last_run_at: (compaction.last_run_at ?? count?.last_summary_at)?.toISOString() ?? null,
    },
    queues,
    database: { backend: database.backend, schema_version: version, size_bytes: count?.size_bytes ?? 0 },
  };
}

/**
 * The text of a failure may hold words of another conversation, or the address of the model's server: only callers that
 * may see everything get it. Others get the failures of their own conversations, and of the rest the numbers.
 */
async function withoutOthersErrors<Stats extends { readonly last_error: string | null; queues: readonly WorkState[] }>(
  database: Database,
  visibility: Visibility,
  stats: Stats,
): Promise<Stats> {
  if ("all" in visibility) return stats;
  const values = new Values();
  const seen = visible("w", visibility, values).join(" and ");
  const { rows } = await database.query<{ readonly error: string }>(
    `select w.error from compaction_work w where w.error is not null and ${seen}
     order by coalesce(w.failed_at, w.due_at) desc nulls last limit 1`,
    values.list,
  );
  const queues = stats.queues.map((state) => ({ ...state, last_error: null }));
  return { ...stats, last_error: rows[0]?.error ?? null, queues };
}

function waitingOf(count: Counts | undefined): number {
  return count === undefined ? 0 : Math.max(0, count.embeddable - count.embedded - count.given_up);
}

function countStatement(
  model: number | undefined,
  request: { readonly agent?: string | undefined; readonly visibility: Visibility },
): [string, readonly unknown[]] {
  const values = new Values();
  const agent = request.agent === undefined ? undefined : values.add(request.agent);
  const seen = (alias: string) => visible(alias, request.visibility, values).map((condition) => ` and ${condition}`);
  const messages = `true${agent === undefined ? "" : ` and m.agent = ${agent}`}${seen("m").join("")}`;
  const summaries = `true${agent === undefined ? "" : ` and c.agent = ${agent}`}${seen("s").join("")}`;
  const embedded =
    model === undefined
      ? "0"
      : `(select count(*) from ${embeddingTable(model)} v join messages m on m.id = v.id
          where v.kind = 'message' and ${messages})`;
  const givenUp =
    model === undefined
      ? "0"
      : `(select count(*) from embedding_work w join messages m on m.id = w.id
          where w.model_id = ${values.add(model)} and w.kind = 'message' and w.failed_at is not null and ${messages})`;
  const sql = `
with waiting as (
  select m.conversation_id, count(*) as n from messages m
  where ${messages} and not exists (select 1 from summary_sources link where link.message_id = m.id)
  group by m.conversation_id
),
tree as (
  select count(*) filter (where s.kind = 'leaf') as leaf, count(*) filter (where s.kind = 'branch') as branch,
    count(*) filter (where s.kind = 'root') as root, coalesce(max(s.depth), 0) as max_depth, max(s.created_at) as last_summary_at
  from summaries s left join conversations c on c.id = s.conversation_id where ${summaries}
),
stored as (
  select count(*) as total, count(*) filter (where m.content <> '') as embeddable from messages m where ${messages}
)
select stored.total, stored.embeddable, ${embedded} as embedded, ${givenUp} as given_up,
  coalesce((select sum(n) from waiting), 0)::bigint as unsummarized,
  (select count(*) from waiting where n >= ${MOST_COUNTED}) as over_threshold, tree.*,
  pg_database_size(current_database()) as size_bytes
from stored, tree`;
  return [sql, values.list];
}
