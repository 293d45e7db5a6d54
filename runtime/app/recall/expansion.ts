import type { Queryable } from "../../contracts/database.ts";
import type { Visibility } from "../../contracts/memory.ts";
import type { Candidate } from "./candidates.ts";
import { type Access, idsOf, NEVER, type RowRef, rowKey } from "./found.ts";
import type { CachedRows, UnderRow } from "./rows/row-cache.ts";
import { Values } from "./sql.ts";

/** What an answer still needs once its hits are known: whole contents, and what lies under summaries. */

export interface DetailsRequest {
  /** Hits whose whole content is wanted. */
  readonly wholes: readonly Candidate[];
  /** Summaries whose children or sources are wanted. */
  readonly summaries: readonly Candidate[];
  readonly visibility: Visibility | undefined;
  readonly now: Date;
}

export interface Details {
  /** Whole content by `rowKey`. */
  readonly contents: ReadonlyMap<string, string>;
  /** By the summary's id: the summaries below it, oldest first. */
  readonly children: ReadonlyMap<string, readonly Candidate[]>;
  /** By the summary's id: its source messages, in their order. */
  readonly sources: ReadonlyMap<string, readonly Candidate[]>;
}

/** Rows under one summary that an answer carries at most. */
const MAX_UNDER_SUMMARY = 20;

/**
 * What lies under a summary comes from the cache, with access counts that may be a minute old; what is missing is read from the
 * database.
 */
export async function loadDetails(
  database: Queryable,
  cache: CachedRows | null,
  request: DetailsRequest,
): Promise<Details> {
  const { wholes, summaries, visibility, now } = request;
  const under = new Map<string, readonly UnderRow[]>();
  const accesses = new Map<string, Access>();
  const missing: Candidate[] = [];
  const outdated: Candidate[] = [];
  for (const summary of summaries) {
    const cached = cache?.under(summary.id);
    const counts = cache?.accessesUnder(summary.id, now);
    under.set(summary.id, cached ?? []);
    for (const [key, access] of counts ?? []) accesses.set(key, access);
    if (cached === undefined) missing.push(summary);
    else if (counts === undefined) outdated.push(summary);
  }
  const [rows, read] = await Promise.all([
    wholes.length + missing.length === 0 ? [] : readRows(database, wholes, missing),
    readAccesses(
      database,
      outdated.flatMap(({ id }) => under.get(id) ?? []),
    ),
  ]);
  for (const row of rows) read.set(rowKey(row), { count: row.access_count, lastMs: row.accessed_ms });
  for (const [key, access] of read) accesses.set(key, access);
  for (const { id } of missing) {
    under.set(
      id,
      rows.flatMap((row) => (row.summary_id === id ? [underRow(row)] : [])),
    );
  }
  for (const { id } of [...missing, ...outdated]) {
    const of = under.get(id) ?? [];
    const counts = new Map(of.map((row) => [rowKey(row), accesses.get(rowKey(row)) ?? NEVER]));
    cache?.keepUnder(id, { rows: of, counts, at: now });
  }
  const isOfOneUser = visibility !== undefined && !("all" in visibility);
  // The sources of a summary are of its conversation, which a caller that sees the summary may see; others need the whole store.
  const isShown = (summary: Candidate, row: UnderRow) =>
    !isOfOneUser || (row.conversation_id !== null && row.conversation_id === summary.conversation_id);
  // Where nothing is shown there is no list either: it would say that there is something.
  const shownAs = (relation: UnderRow["relation"]) =>
    new Map(
      summaries.flatMap((summary) => {
        const of = (under.get(summary.id) ?? []).filter((row) => row.relation === relation && isShown(summary, row));
        return of.length === 0 ? [] : [[summary.id, of.map((row) => candidateOf(row, accesses))] as const];
      }),
    );
  return {
    contents: new Map(rows.flatMap((row) => (row.relation === "self" ? [[rowKey(row), row.head]] : []))),
    children: shownAs("child"),
    sources: shownAs("source"),
  };
}

async function readAccesses(database: Queryable, rows: readonly RowRef[]): Promise<Map<string, Access>> {
  if (rows.length === 0) return new Map();
  const values = new Values();
  const branches = (["message", "summary"] as const).map(
    (kind) => `select kind, id, access_count as count, (extract(epoch from last_accessed_at) * 1000)::float8 as "lastMs"
from access where kind = '${kind}' and id = any(${values.add(idsOf(rows, kind))}::uuid[])`,
  );
  const { rows: read } = await database.query<RowRef & Access>(branches.join("\nunion all\n"), values.list);
  return new Map(read.map(({ count, lastMs, ...row }) => [rowKey(row), { count, lastMs }]));
}

interface DetailRow extends Omit<UnderRow, "relation"> {
  readonly relation: UnderRow["relation"] | "self";
  readonly summary_id: string | null;
  readonly access_count: number;
  readonly accessed_ms: number | null;
}

function underRow({ relation, summary_id, access_count, accessed_ms, ...row }: DetailRow): UnderRow {
  return { ...row, relation: relation === "child" ? "child" : "source" };
}

function candidateOf({ relation, ...row }: UnderRow, accesses: ReadonlyMap<string, Access>): Candidate {
  const { count, lastMs } = accesses.get(rowKey(row)) ?? NEVER;
  const last_accessed_at = lastMs === null ? null : new Date(lastMs);
  return { ...row, access_count: count, last_accessed_at, fts: 0, semantic: null, whole: true };
}

/** Each row is looked up by itself: for some dozens the planner would read a whole table that is not large yet. */
async function readRows(
  database: Queryable,
  wholes: readonly Candidate[],
  summaries: readonly Candidate[],
): Promise<DetailRow[]> {
  const values = new Values();
  const messageIds = values.add(idsOf(wholes, "message"));
  const summaryIds = values.add(idsOf(wholes, "summary"));
  const expanded = values.add(summaries.map(({ id }) => id));
  const { rows } = await database.query<DetailRow>(
    `
with found as (
  select 'self' as relation, null::uuid as summary_id, 0::bigint as n, 'message' as kind, m.id
  from messages m where m.id = any(${messageIds}::uuid[])
  union all
  select 'self', null, 0, 'summary', s.id from summaries s where s.id = any(${summaryIds}::uuid[])
  union all
  select * from (
    select 'child', s.parent_id, row_number() over (partition by s.parent_id order by s.earliest_at, s.seq) as n, 'summary', s.id
    from summaries s join summaries parent on parent.id = s.parent_id and s.depth < parent.depth
    where s.parent_id = any(${expanded}::uuid[])
  ) as child where n <= ${MAX_UNDER_SUMMARY}
  union all
  select 'source', summary.id, source.ordinal, 'message', source.message_id
  from unnest(${expanded}::uuid[]) as summary (id) cross join lateral (
    select link.message_id, link.ordinal from summary_sources link
    where link.summary_id = summary.id
    order by link.ordinal, link.message_id limit ${MAX_UNDER_SUMMARY}
  ) as source
)
select found.relation, found.summary_id, found.kind, found.id,
  coalesce(m.conversation_id, s.conversation_id) as conversation_id, coalesce(m.agent, c.agent) as agent,
  coalesce(m.channel, c.channel) as channel, m.role, coalesce(m.created_at, s.created_at) as created_at,
  coalesce(m.created_at, s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind,
  coalesce(access.access_count, 0) as access_count, (extract(epoch from access.last_accessed_at) * 1000)::float8 as accessed_ms,
  coalesce(m.content, s.content) as head
from found
left join lateral (select * from messages m where found.kind = 'message' and m.id = found.id limit 1) as m on true
left join lateral (select * from summaries s where found.kind = 'summary' and s.id = found.id limit 1) as s on true
left join lateral (select * from conversations c where c.id = s.conversation_id limit 1) as c on true
left join lateral (select * from access where access.kind = found.kind and access.id = found.id limit 1) as access on true
order by found.n`,
    values.list,
  );
  return rows;
}
