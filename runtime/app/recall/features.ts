import type { Queryable } from "../../contracts/database.ts";
import type { SummaryKind } from "../../contracts/records.ts";
import { importanceOf } from "../../domain/importance.ts";
import type { RankingCandidate } from "../../domain/ranking/input.ts";
import { embeddingTable } from "./embedding-tables.ts";
import { type Filters, messageConditions } from "./filters.ts";
import type { FoundRow, RowRef } from "./found.ts";
import type { AnalyzedQuery } from "./query-analysis.ts";
import { speakerIn } from "./rows/load.ts";
import { containing, quoteLexeme, Values } from "./sql.ts";
import { vectorText } from "./vectors.ts";

/** What the ranking needs to know of the rows that were found and of the messages beside them, in one statement. */

export interface Features extends RankingCandidate {
  /** Whether the rows on each side of it in its conversation are candidates, too, as far as there are any. */
  readonly surrounded: boolean;
  readonly channel: string | null;
  readonly createdAt: Date;
  /** Of a summary. */
  readonly depth: number | null;
  readonly summaryKind: SummaryKind | null;
  /** Whether `head` is all of the content. */
  readonly whole: boolean;
}

export interface FeatureRequest {
  /** Found rows. */
  readonly rows: readonly FoundRow[];
  /** So many of them, from the first on, bring the messages beside them. */
  readonly withNeighbours: number;
  /** Rows beside a found one have to pass them too. */
  readonly filters: Filters;
  readonly identifiers: readonly string[];
  /** The query's vector, in the model's dimensions; null without vectors. */
  readonly vector: readonly number[] | null;
  /** Units of the content to return. */
  readonly head: number;
}

/** A long text's words are stored apart: by the concatenation they are fetched once, and not for each term. */
const WORDS = "row.content_tsv || ''::tsvector as words";
/** On each side. */
const NEIGHBOURS = 2;

interface Row {
  readonly kind: "message" | "summary";
  readonly id: string;
  readonly conversation_id: string | null;
  readonly seq: number;
  readonly found: boolean;
  readonly surrounded: boolean;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: RankingCandidate["role"];
  readonly speaker: string | null;
  readonly created_ms: number;
  readonly happened_ms: number;
  readonly depth: number | null;
  readonly summary_kind: SummaryKind | null;
  readonly length: number;
  /** ts_rank of each term, one after the other. */
  readonly ranks: string;
  readonly similarity: number;
  readonly cosine: number | null;
  readonly access_count: number | null;
  readonly accessed_ms: number | null;
  readonly head: string;
  readonly whole: boolean;
}

export async function loadFeatures(
  database: Queryable,
  query: AnalyzedQuery,
  request: FeatureRequest,
): Promise<Features[]> {
  if (request.rows.length === 0) return [];
  const values = new Values();
  const idsOf = (kind: RowRef["kind"]) => request.rows.filter((row) => row.kind === kind).map(({ id }) => id);
  const messages = idsOf("message");
  const summaries = idsOf("summary");
  const terms = query.terms.map(({ lexeme }) => `${values.add(quoteLexeme(lexeme))}::tsquery`);
  const vector = query.model === null || request.vector === null ? null : values.add(vectorText(request.vector));
  const identifiers =
    request.identifiers.length === 0
      ? null
      : `${values.add(request.identifiers)}::text[], ${values.add(request.identifiers.map(containing))}::text[]`;
  const head = `${values.add(request.head)}::int`;
  const shared = (alias: "m" | "s", kind: RowRef["kind"]) => `length(${alias}.words) as length,
  ${ranksOf(`${alias}.words`, terms)} as ranks,
  ${similarityOf(`${alias}.content`, identifiers, kind === "message" ? "m.found" : "true")} as similarity,
  ${cosine(query, vector, kind, `${alias}.id`)} as cosine,
  left(${alias}.content, ${head}) as head, length(${alias}.content) <= ${head} as whole`;
  const branches: string[] = [];
  if (messages.length > 0) {
    branches.push(`
(with m as materialized (
  select row.*, ${WORDS}, one.found, one.surrounded
  from (${rowsWithNeighbours(values.add(messages), values.add(Math.min(request.withNeighbours, messages.length)))}) as one
  cross join lateral (
    select * from messages m where m.conversation_id = one.conversation_id and m.seq = one.seq${neighbourConditions(request.filters, values)} limit 1
  ) as row
)
select 'message' as kind, m.id, m.conversation_id, m.seq, m.found, m.surrounded, m.agent, m.channel, m.role, m.metadata ->> 'speaker' as speaker,
  ${epochMs("m.created_at")} as created_ms, ${epochMs("m.created_at")} as happened_ms,
  null::int as depth, null::text as summary_kind, access.access_count, ${epochMs("access.last_accessed_at")} as accessed_ms,
  ${shared("m", "message")}
from m left join ${accessOf("m", "message")})`);
  }
  if (summaries.length > 0) {
    branches.push(`
(with s as materialized (
  select row.*, ${WORDS} from unnest(${values.add(summaries)}::uuid[]) as wanted (id)
  cross join lateral (select * from summaries s where s.id = wanted.id limit 1) as row
), c as materialized (
  select id, agent, channel from conversations where id = any(array(select s.conversation_id from s))
)
select 'summary' as kind, s.id, s.conversation_id, s.seq, true as found, false as surrounded, c.agent, c.channel, null::text as role, null::text as speaker,
  ${epochMs("s.created_at")} as created_ms, ${epochMs("coalesce(s.latest_at, s.created_at)")} as happened_ms,
  s.depth, s.kind as summary_kind, access.access_count, ${epochMs("access.last_accessed_at")} as accessed_ms,
  ${shared("s", "summary")}
from s left join c on c.id = s.conversation_id left join ${accessOf("s", "summary")})`);
  }
  const { rows } = await database.query<Row>(branches.join("\nunion all\n"), values.list);
  return rows.map(toFeatures);
}

/** Conversation and number of the messages with these ids, and of the neighbours of the first of them. */
function rowsWithNeighbours(ids: string, withNeighbours: string): string {
  const neighbours = (side: "<" | ">", direction: "desc" | "asc") => `(
      select o.seq from messages o where o.conversation_id = found.conversation_id and o.seq ${side} found.seq
      order by o.conversation_id ${direction}, o.seq ${direction} limit ${NEIGHBOURS})`;
  return `
  with found as materialized (
    select m.conversation_id, m.seq, wanted.n from unnest(${ids}::uuid[]) with ordinality as wanted (id, n)
    cross join lateral (select * from messages m where m.id = wanted.id limit 1) as m
  )
  select conversation_id, seq, bool_or(found) as found, bool_or(surrounded) as surrounded from (
    select conversation_id, seq, true as found, n <= ${withNeighbours}::int as surrounded from found
    union all
    select found.conversation_id, neighbour.seq, false, false from found
    cross join lateral (${neighbours("<", "desc")} union all ${neighbours(">", "asc")}) as neighbour where found.n <= ${withNeighbours}::int
  ) as every group by conversation_id, seq`;
}

/** A found row's neighbours are in its conversation, and so as visible as it is. */
function neighbourConditions({ agent, since, before, exclude }: Filters, values: Values): string {
  return messageConditions({ agent, since, before, exclude }, values);
}

function ranksOf(tsv: string, terms: readonly string[]): string {
  if (terms.length === 0) return "''";
  return `concat_ws(' ', ${terms.map((term) => `ts_rank('{1,1,1,1}', ${tsv}, ${term})`).join(", ")})`;
}

/** Only of rows that contain it: the similarity is expensive. */
function similarityOf(content: string, identifiers: string | null, found: string): string {
  if (identifiers === null) return "0::float8";
  return `case when ${found} then coalesce((select max(word_similarity(word, ${content}))
    from unnest(${identifiers}) as given (word, pattern) where ${content} ilike pattern), 0) else 0 end::float8`;
}

function cosine(query: AnalyzedQuery, vector: string | null, kind: RowRef["kind"], id: string): string {
  if (query.model === null || vector === null) return "null::float8";
  return `(select 1 - (v.embedding <=> ${vector}) from ${embeddingTable(query.model.id)} v where v.kind = '${kind}' and v.id = ${id})`;
}

/** By the list of the rows: joined with the table, some hundred rows would have the planner read all of it. */
function accessOf(rows: "m" | "s", kind: RowRef["kind"]): string {
  return `(select id, access_count, last_accessed_at from access
    where access.kind = '${kind}' and access.id = any(array(select ${rows}.id from ${rows}))) as access on access.id = ${rows}.id`;
}

function epochMs(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::float8`;
}

function toFeatures(row: Row): Features {
  let importance: number | undefined;
  return {
    kind: row.kind,
    id: row.id,
    conversationId: row.conversation_id,
    position: row.seq,
    neighbour: !row.found,
    surrounded: row.surrounded,
    agent: row.agent,
    channel: row.channel,
    role: row.role,
    speaker: row.speaker ?? speakerIn(row.head),
    createdAt: new Date(row.created_ms),
    happenedAt: new Date(row.happened_ms),
    depth: row.depth,
    summaryKind: row.summary_kind,
    length: row.length,
    frequencies: row.ranks === "" ? [] : row.ranks.split(" ").map((rank) => occurrences(Number(rank))),
    similarity: row.similarity,
    cosine: row.cosine === null || Number.isNaN(row.cosine) ? null : row.cosine,
    lastAccessedAt: row.accessed_ms === null ? null : new Date(row.accessed_ms),
    accessCount: row.access_count ?? 0,
    // Lazy: expensive, and not every ranking needs it.
    get importance() {
      importance ??= importanceOf(row.head);
      return importance;
    },
    head: row.head,
    whole: row.whole,
  };
}

/** A tsvector keeps so many positions of a lexeme. */
const MAX_OCCURRENCES = 256;
const RANK_OF_ALL = Math.PI ** 2 / 6;

/** From the ts_rank of a single term with weights of 1, which is the sum of 1/n² over its n occurrences, over π²/6. */
export function occurrences(rank: number): number {
  let sum = 0;
  for (let n = 0; n < MAX_OCCURRENCES; n += 1) {
    const next = 1 / (n + 1) ** 2;
    if (rank * RANK_OF_ALL < sum + next / 2) return n;
    sum += next;
  }
  return MAX_OCCURRENCES;
}
