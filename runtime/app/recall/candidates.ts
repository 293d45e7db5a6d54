import type { Queryable } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import type { Role } from "../../contracts/message.ts";
import type { SummaryKind } from "../../contracts/records.ts";
import { type Filters, messageConditions, summaryConditions } from "./filters.ts";
import type { AnalyzedQuery } from "./query-analysis.ts";
import { anyOf, plannedForItsValues, quoteLexeme, Values } from "./sql.ts";

/**
 * The bounded set of rows that may answer a query, with the parts of their scores, in one statement.
 * Rare words, identifiers and near vectors bring candidates; common words only score them.
 */

export interface Candidate {
  readonly kind: "message" | "summary";
  readonly id: string;
  readonly conversation_id: string | null;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: Role | null;
  readonly created_at: Date;
  /** When what it tells happened: of a summary, the newest message that it covers. */
  readonly happened_at: Date;
  readonly depth: number | null;
  readonly summary_kind: SummaryKind | null;
  readonly access_count: number;
  readonly last_accessed_at: Date | null;
  /** 0 to 1. */
  readonly fts: number;
  /** Cosine similarity, 0 to 1; null without a vector. */
  readonly semantic: number | null;
  /** The first part of the content. */
  readonly head: string;
  /** Whether `head` is all of it. */
  readonly whole: boolean;
}

/** A row that is near to the query's vector. */
export interface Neighbour {
  readonly kind: "message" | "summary";
  readonly id: string;
}

export interface CandidateRequest {
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Looked up by trigrams beside the stems. */
  readonly identifiers: readonly string[];
  readonly neighbours: readonly Neighbour[];
  /** The query's vector, as pgvector writes one; null without vectors. */
  readonly vector: string | null;
  /** Newest matches of each kind that are scored. */
  readonly pool: number;
  /** Best of them that are returned. */
  readonly top: number;
  /** How `top` is chosen; the caller ranks what it gets by the exact formula. */
  readonly weights: { readonly fts: number; readonly semantic: number; readonly temporal: number };
  /** Units of the content to return. */
  readonly head: number;
  /** Distinguishes this statement's text, see plannedForItsValues. */
  readonly number: number;
}

const MESSAGE_COLUMNS = `'message'::text as kind, m.id, m.conversation_id, m.agent, m.channel, m.role, m.created_at,
    m.created_at as happened_at, null::int as depth, null::text as summary_kind, m.content_tsv as tsv`;
const SUMMARY_COLUMNS = `'summary'::text as kind, s.id, s.conversation_id, c.agent, c.channel, null::text as role,
    s.created_at, coalesce(s.latest_at, s.created_at) as happened_at, s.depth, s.kind as summary_kind, s.content_tsv as tsv`;
const SUMMARIES = "summaries s left join conversations c on c.id = s.conversation_id";
const NEWEST_MESSAGES = "order by m.created_at desc, m.seq desc";
const NEWEST_SUMMARIES = "order by s.created_at desc, s.seq desc";

/** Best first by the rough weights; empty when nothing in the query can be looked up. */
export async function findCandidates(
  database: Queryable,
  query: AnalyzedQuery,
  request: CandidateRequest,
): Promise<Candidate[]> {
  const values = new Values();
  const branches = candidateBranches(query, request, values);
  if (branches.length === 0) return [];
  const lexemes = query.terms.map(({ lexeme }) => lexeme);
  const sql = `
with term as materialized (
  select query::tsquery as query, frequency
  from unnest(${values.add(lexemes.map(quoteLexeme))}::text[],
    ${values.add(query.terms.map(({ frequency }) => frequency))}::float8[]) as given (query, frequency)
),
matched as materialized (
  select distinct on (kind, id) *, length(tsv)::float8 as size from (${branches.join("\n  union all\n  ")}) as found
  order by kind, id, similarity desc nulls last
),
average as (
  select kind, greatest(avg(size), 1) as size from matched group by kind
),
weighted as materialized (
  select query, ln(1 + greatest(total - df, 0) / (df + 0.5) + 0.5 / (df + 0.5)) as idf
  from (
    select query, greatest(${values.add(query.messages)}::float8, (select count(*) from matched)) as total,
      coalesce(frequency * ${values.add(query.messages)}::float8,
        (select count(*) from matched where tsv @@ term.query)) as df
    from term
    offset 0 -- else the count is done for every mention of df
  ) as counted
),
scored as (
  select matched.*, access.access_count, access.last_accessed_at,
    least(1, 1 - (1 - coalesce(text.fts, 0)) * (1 - 0.5 * coalesce(matched.similarity, 0))) as fts,
    ${semanticPart(query, request, values)} as semantic
  from matched
  join average on average.kind = matched.kind
  left join access on access.kind = matched.kind and access.id = matched.id
  cross join lateral (
    select sum(idf * ${TERM_SCORE}) / (select nullif(sum(idf), 0) from weighted) as fts
    from weighted where matched.tsv @@ query
  ) as text
),
best as (
  select * from scored
  order by fts * ${values.add(request.weights.fts)}::float8
    + coalesce(semantic, 0) * ${values.add(request.weights.semantic)}::float8
    + exp(-0.05 * extract(epoch from now() - coalesce(last_accessed_at, happened_at)) / 86400.0)
      * (1 + 0.02 * coalesce(access_count, 0)) * ${values.add(request.weights.temporal)}::float8 desc, created_at desc, id desc
  limit ${values.add(request.top)}
)
select best.kind, best.id, best.conversation_id, best.agent, best.channel, best.role, best.created_at, best.happened_at,
  best.depth, best.summary_kind, coalesce(best.access_count, 0) as access_count, best.last_accessed_at,
  best.fts::float8 as fts, best.semantic, left(coalesce(m.content, s.content), ${values.add(request.head)}) as head,
  length(coalesce(m.content, s.content)) <= ${values.add(request.head)} as whole
from best
left join messages m on best.kind = 'message' and m.id = best.id
left join summaries s on best.kind = 'summary' and s.id = best.id`;
  // Few matches are read through the index whatever the words are: then one plan serves all, and planning, which takes
  // half of the time, is done once.
  const text = query.few && request.identifiers.length === 0 ? sql : plannedForItsValues(sql, request.number);
  const { rows } = await database.query<Candidate>(text, values.list);
  return rows;
}

/**
 * BM25's saturation (k1 1.2, b 0.75) over its own maximum, so that a term scores 0 to 1: tf * 2.2 / (tf + k) / 1.8607, with
 * tf in one place, because each mention is computed anew. tf comes from ts_rank of the single term, which the row contains:
 * 1 for one occurrence, and never above 1.645.
 */
const TERM_SCORE =
  "2.2 / 1.8607 / (1 + (0.3 + 0.9 * matched.size / average.size) * 0.6079271 / ts_rank('{1,1,1,1}', matched.tsv, query))";

function candidateBranches(query: AnalyzedQuery, request: CandidateRequest, values: Values): string[] {
  const { scope, filters, pool } = request;
  const branches: string[] = [];
  const messages = scope === "summaries" ? null : messageConditions(filters, values);
  const summaries = scope === "messages" ? null : summaryConditions(filters, values);
  const byWords = (lexemes: readonly string[], all: boolean, pool: number) => {
    const matches = `${values.add(anyOf(lexemes))}::tsquery`;
    // The fence keeps the planner from walking the whole table by age in search of a few matches.
    const fence = all ? "offset 0" : "";
    const limit = `limit ${values.add(pool)}`;
    if (messages !== null) {
      branches.push(`(select ${MESSAGE_COLUMNS}, null::float8 as similarity
    from (select * from messages m where m.content_tsv @@ ${matches}${messages} ${fence}) as m ${NEWEST_MESSAGES} ${limit})`);
    }
    if (summaries !== null) {
      branches.push(`(select ${SUMMARY_COLUMNS}, null::float8 as similarity
    from (select * from summaries s where s.content_tsv @@ ${matches}${summaries} ${fence}) as s
    left join conversations c on c.id = s.conversation_id ${NEWEST_SUMMARIES} ${limit})`);
    }
  };
  if (query.selective.length > 0) byWords(query.selective, query.few, pool);
  if (query.common !== null) byWords([query.common], false, Math.ceil(pool / 2));
  if (request.identifiers.length > 0) {
    const wanted = `unnest(${values.add(request.identifiers)}::text[]) as wanted (word)`;
    const few = `limit ${values.add(Math.ceil(pool / 4))}`;
    if (messages !== null) {
      branches.push(`(select alike.* from ${wanted} cross join lateral (
    select ${MESSAGE_COLUMNS}, word_similarity(wanted.word, m.content)::float8 as similarity from messages m
    where m.content %> wanted.word${messages} ${NEWEST_MESSAGES} ${few}) as alike)`);
    }
    if (summaries !== null) {
      branches.push(`(select alike.* from ${wanted} cross join lateral (
    select ${SUMMARY_COLUMNS}, word_similarity(wanted.word, s.content)::float8 as similarity from ${SUMMARIES}
    where s.content %> wanted.word${summaries} ${NEWEST_SUMMARIES} ${few}) as alike)`);
    }
  }
  const near = (kind: Neighbour["kind"]) => request.neighbours.filter((one) => one.kind === kind).map(({ id }) => id);
  if (messages !== null && near("message").length > 0) {
    branches.push(`(select ${MESSAGE_COLUMNS}, null::float8 as similarity from messages m
    where m.id = any(${values.add(near("message"))}::uuid[])${messages})`);
  }
  if (summaries !== null && near("summary").length > 0) {
    branches.push(`(select ${SUMMARY_COLUMNS}, null::float8 as similarity from ${SUMMARIES}
    where s.id = any(${values.add(near("summary"))}::uuid[])${summaries})`);
  }
  return branches;
}

function semanticPart(query: AnalyzedQuery, request: CandidateRequest, values: Values): string {
  if (query.model === null || request.vector === null) return "null::float8";
  return `(select greatest(0, 1 - (vector.embedding <=> ${values.add(request.vector)}::halfvec))
      from embeddings_${query.model.id} as vector where vector.kind = matched.kind and vector.id = matched.id)`;
}
