import type { Queryable } from "../../contracts/database.ts";
import type { Visibility } from "../../contracts/memory.ts";
import type { Candidate } from "./candidates.ts";
import { visible } from "./filters.ts";
import { Values } from "./sql.ts";

/** What an answer still needs once its hits are known, in one query: whole contents, and what lies under summaries. */

export interface Details {
  /** Whole content by `kind id`. */
  readonly contents: ReadonlyMap<string, string>;
  /** By the summary's id: the summaries below it, oldest first. */
  readonly children: ReadonlyMap<string, readonly Candidate[]>;
  /** By the summary's id: its source messages, in their order. */
  readonly sources: ReadonlyMap<string, readonly Candidate[]>;
}

/** Rows under one summary that an answer carries at most. */
const MAX_UNDER_SUMMARY = 20;

interface DetailRow extends Omit<Candidate, "fts" | "semantic" | "whole"> {
  readonly relation: "self" | "child" | "source";
  readonly summary_id: string | null;
}

/**
 * `wholes` need their whole content, `summaries` their children or sources.
 * Each row is looked up by itself: for some dozens the planner would read a whole table that is not large yet.
 */
export async function loadDetails(
  database: Queryable,
  wholes: readonly Candidate[],
  summaries: readonly string[],
  visibility: Visibility | undefined,
): Promise<Details> {
  if (wholes.length === 0 && summaries.length === 0) return collect([]);
  const values = new Values();
  const idsOf = (kind: Candidate["kind"]) => wholes.filter((one) => one.kind === kind).map(({ id }) => id);
  const messageIds = values.add(idsOf("message"));
  const summaryIds = values.add(idsOf("summary"));
  const expanded = values.add(summaries);
  const seenSources = visible("m", visibility, values).map(
    (condition) => ` and (select true from messages m where m.id = link.message_id and ${condition})`,
  );
  const seenSummaries = visible("s", visibility, values).map((condition) => ` and ${condition}`);
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
    where s.parent_id = any(${expanded}::uuid[])${seenSummaries.join("")}
  ) as child where n <= ${MAX_UNDER_SUMMARY}
  union all
  select 'source', summary.id, source.ordinal, 'message', source.message_id
  from unnest(${expanded}::uuid[]) as summary (id) cross join lateral (
    select link.message_id, link.ordinal from summary_sources link
    where link.summary_id = summary.id${seenSources.join("")}
    order by link.ordinal, link.message_id limit ${MAX_UNDER_SUMMARY}
  ) as source
)
select found.relation, found.summary_id, found.kind, found.id,
  coalesce(m.conversation_id, s.conversation_id) as conversation_id, coalesce(m.agent, c.agent) as agent,
  coalesce(m.channel, c.channel) as channel, m.role, coalesce(m.created_at, s.created_at) as created_at,
  coalesce(m.created_at, s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind,
  coalesce(access.access_count, 0) as access_count, access.last_accessed_at,
  coalesce(m.content, s.content) as head
from found
left join lateral (select * from messages m where found.kind = 'message' and m.id = found.id limit 1) as m on true
left join lateral (select * from summaries s where found.kind = 'summary' and s.id = found.id limit 1) as s on true
left join lateral (select * from conversations c where c.id = s.conversation_id limit 1) as c on true
left join lateral (select * from access where access.kind = found.kind and access.id = found.id limit 1) as access on true
order by found.n`,
    values.list,
  );
  return collect(rows);
}

function collect(rows: readonly DetailRow[]): Details {
  const contents = new Map<string, string>();
  const children = new Map<string, Candidate[]>();
  const sources = new Map<string, Candidate[]>();
  for (const { relation, summary_id, ...row } of rows) {
    if (relation === "self" || summary_id === null) {
      contents.set(`${row.kind} ${row.id}`, row.head);
      continue;
    }
    const under = relation === "child" ? children : sources;
    const candidate: Candidate = { ...row, fts: 0, semantic: null, whole: true };
    under.set(summary_id, [...(under.get(summary_id) ?? []), candidate]);
  }
  return { contents, children, sources };
}
