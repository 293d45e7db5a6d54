import type { Queryable } from "../../contracts/database.ts";
import type { Visibility } from "../../contracts/memory.ts";
import type { Candidate } from "./candidates.ts";
import { type Access, NEVER } from "./rows/access-count-cache.ts";
import { type Under, type UnderFacts, UnderRow } from "./rows/detail-cache.ts";
import type { RowCache } from "./rows/row-cache.ts";
import { readState, STATE, type StoreState } from "./rows/state.ts";
import { Values } from "./sql.ts";

/** What an answer still needs once its hits are known: whole contents, and what lies under summaries. */

export interface DetailsRequest {
  /** Hits whose whole content is wanted. */
  readonly wholes: readonly Candidate[];
  /** Summaries whose children or sources are wanted. */
  readonly summaries: readonly Candidate[];
  readonly visibility: Visibility | undefined;
  /** What the search has seen the store in; undefined when that is not known. */
  readonly state: StoreState | undefined;
  readonly rowCache: RowCache | undefined;
}

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

/** From the memory what it has, the rest in one statement. */
export async function loadDetails(database: Queryable, request: DetailsRequest): Promise<Details> {
  const { wholes, summaries, state } = request;
  const rowCache = state !== undefined && request.rowCache?.state === state.text ? request.rowCache : undefined;
  const collected = new Collected(request.visibility);
  const unknownContents = wholes.filter((row) => {
    const content = rowCache?.details.content(row);
    if (content !== undefined) collected.addContent(row, content);
    return content === undefined;
  });
  const unknownUnder = summaries.filter((summary) => {
    const under = rowCache?.details.under(summary.id);
    const accesses = under && rowCache && state && cachedAccesses(rowCache, state, under);
    if (under && accesses) collected.addUnder(summary, under, accesses);
    return !accesses;
  });
  if (unknownContents.length === 0 && unknownUnder.length === 0) return collected;
  const rows = await read(database, unknownContents, unknownUnder);
  const stored = readState(rows.find(({ state }) => state !== null)?.state ?? "");
  const keeper = rowCache !== undefined && stored.text === rowCache.state ? rowCache : undefined;
  for (const { kind, id, relation, head } of rows) {
    if (relation !== "self") continue;
    collected.addContent({ kind, id }, head);
    keeper?.details.keepContent({ kind, id }, head);
  }
  for (const summary of unknownUnder) {
    const of = (relation: DetailRow["relation"]) =>
      rows.filter((row) => row.relation === relation && row.summary_id === summary.id);
    const [children, sources] = [of("child"), of("source")];
    const under: Under = { children: children.map(underRow), sources: sources.map(underRow) };
    const accesses = [...children, ...sources].map(accessOf);
    collected.addUnder(summary, under, accesses);
    keeper?.details.keepUnder(summary.id, under);
    for (const [n, row] of [...children, ...sources].entries()) {
      keeper?.accesses.keep(stored.accessVersion, row, accesses[n] ?? NEVER);
    }
  }
  return collected;
}

/** Undefined when those of one row are not known. */
function cachedAccesses(
  { accesses }: RowCache,
  { accessVersion }: StoreState,
  { children, sources }: Under,
): readonly Access[] | undefined {
  if (!accesses.holdsAt(accessVersion)) return undefined;
  const rows = [...children, ...sources];
  const cached = rows.flatMap(({ facts }) => accesses.get(facts) ?? []);
  return cached.length === rows.length ? cached : undefined;
}

class Collected implements Details {
  readonly contents = new Map<string, string>();
  readonly children = new Map<string, readonly Candidate[]>();
  readonly sources = new Map<string, readonly Candidate[]>();
  readonly #ofOneUser: boolean;

  constructor(visibility: Visibility | undefined) {
    this.#ofOneUser = visibility !== undefined && !("all" in visibility);
  }

  addContent({ kind, id }: Pick<Candidate, "kind" | "id">, content: string): void {
    this.contents.set(`${kind} ${id}`, content);
  }

  addUnder(summary: Candidate, { children, sources }: Under, accesses: readonly Access[]): void {
    const of = (rows: readonly UnderRow[], from: number) =>
      rows.flatMap((row, n) => (this.#shows(summary, row) ? candidateOf(row, accesses[from + n] ?? NEVER) : []));
    const shown = [of(children, 0), of(sources, children.length)] as const;
    // That there is something which is not shown is not told either.
    if (shown[0].length > 0) this.children.set(summary.id, shown[0]);
    if (shown[1].length > 0) this.sources.set(summary.id, shown[1]);
  }

  /** What a summary stands for is of its conversation, which whoever sees the summary sees; anything else only who sees all. */
  #shows(summary: Candidate, { facts }: UnderRow): boolean {
    return !this.#ofOneUser || (facts.conversation_id !== null && facts.conversation_id === summary.conversation_id);
  }
}

function candidateOf(row: UnderRow, { count, lastMs }: Access): Candidate {
  return {
    ...row.facts,
    access_count: count,
    last_accessed_at: lastMs === null ? null : new Date(lastMs),
    fts: 0,
    semantic: null,
    whole: true,
    get importance() {
      return row.importance;
    },
  };
}

interface DetailRow extends UnderFacts {
  readonly relation: "self" | "child" | "source";
  readonly summary_id: string | null;
  readonly access_count: number | null;
  readonly accessed_ms: number | null;
  /** In the first row. */
  readonly state: string | null;
}

function underRow({ relation, summary_id, access_count, accessed_ms, state, ...facts }: DetailRow): UnderRow {
  return new UnderRow(facts);
}

function accessOf({ access_count, accessed_ms }: DetailRow): Access {
  return access_count === null ? NEVER : { count: access_count, lastMs: accessed_ms };
}

/** Each row is looked up by itself: for some dozens the planner would read a whole table that is not large yet. */
async function read(
  database: Queryable,
  wholes: readonly Candidate[],
  summaries: readonly Candidate[],
): Promise<DetailRow[]> {
  const values = new Values();
  const idsOf = (kind: Candidate["kind"]) => wholes.filter((one) => one.kind === kind).map(({ id }) => id);
  const messageIds = values.add(idsOf("message"));
  const summaryIds = values.add(idsOf("summary"));
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
select case when row_number() over () = 1 then ${STATE} end as state, found.relation, found.summary_id, found.kind, found.id,
  coalesce(m.conversation_id, s.conversation_id) as conversation_id, coalesce(m.agent, c.agent) as agent,
  coalesce(m.channel, c.channel) as channel, m.role, coalesce(m.created_at, s.created_at) as created_at,
  coalesce(m.created_at, s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind,
  access.access_count, (extract(epoch from access.last_accessed_at) * 1000)::float8 as accessed_ms,
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
