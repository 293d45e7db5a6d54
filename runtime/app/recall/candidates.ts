import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { type Features, featuresOf } from "./features.ts";
import type { Filters } from "./filters.ts";
import { type FoundRow, NOTHING, rowKey, type ShownRow } from "./found.ts";
import { findMatches } from "./matches.ts";
import type { AnalyzedQuery } from "./query-analysis.ts";
import type { Near } from "./query-vector.ts";
import type { RowCache } from "./rows/row-cache.ts";

/**
 * The bounded set of rows that may answer a query: the best by words, the nearest by vectors, and the neighbours of both,
 * each with its features for the ranking.
 */

export interface CandidateRequest {
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Whether words find rows, and not only score them. */
  readonly byWords: boolean;
  /** Looked up by trigrams beside the stems. */
  readonly identifiers: readonly string[];
  /** What the query's vector finds, being asked for; null where it is not wanted, or there are no vectors. */
  readonly near: Promise<Near | null> | null;
  /** Rows that words find. */
  readonly top: number;
  /** So many of each bring their neighbours. */
  readonly withNeighbours: number;
  /** Distinguishes a statement's text, see plannedForItsValues. */
  readonly nextNumber: () => number;
}

export async function findCandidates(
  database: Database,
  cache: RowCache,
  query: AnalyzedQuery,
  request: CandidateRequest,
): Promise<Features[]> {
  const { byWords, top, identifiers } = request;
  // Where both find rows, all that bring their neighbours may be of one of them.
  const withNeighbours = request.withNeighbours * (request.near === null ? 1 : 2);
  const [matches, near] = await Promise.all([
    byWords ? findMatches(database, query, { ...request, withNeighbours }) : NOTHING,
    request.near,
  ]);
  const byVector = near?.found ?? NOTHING;
  return featuresOf(database, cache, query, {
    rows: inTurns(matches.rows.slice(0, top), byVector.rows),
    accesses: new Map([...matches.accesses, ...byVector.accesses]),
    withNeighbours: request.withNeighbours * (matches.rows.length > 0 && byVector.rows.length > 0 ? 2 : 1),
    identifiers,
    vector: near?.vector ?? null,
  });
}

/** One of each after the other, so that the first of both are the first; each row once. */
function inTurns(some: readonly FoundRow[], others: readonly FoundRow[]): FoundRow[] {
  const rows = new Map<string, FoundRow>();
  for (let n = 0; n < Math.max(some.length, others.length); n += 1) {
    for (const row of [some[n], others[n]]) {
      if (row === undefined) continue;
      const key = rowKey(row);
      const other = rows.get(key);
      rows.set(key, other === undefined ? row : { ...other, ...row, neighbours: moreOf(row, other) });
    }
  }
  return [...rows.values()];
}

/** The row may be among the first of one statement only, and have got further neighbours since the other one. */
function moreOf({ neighbours: some = [] }: FoundRow, { neighbours: others = [] }: FoundRow): readonly string[] {
  return some.length < others.length ? others : some;
}

/** A row with the parts of its score. */
export interface Candidate extends ShownRow {
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
  /** Base importance of its kind, where it is known already. */
  readonly importance?: number;
}

/** BM25 of the row alone (k1 1.2, b 0.75), over what a short row with all of the terms would have. */
export function scored(query: AnalyzedQuery, rows: readonly Features[]): Candidate[] {
  const total = query.terms.reduce((sum, { idf }) => sum + idf, 0);
  return rows.map((row) => {
    const size = row.length / query.averageLength[row.kind];
    const sum = query.terms.reduce((sum, { idf }, index) => {
      const tf = row.frequencies[index] ?? 0;
      return sum + (idf * tf * 2.2) / (tf + 1.2 * (0.25 + 0.75 * size));
    }, 0);
    const words = total === 0 ? 0 : Math.min(1, sum / total / 1.8607);
    return withParts(row, 1 - (1 - words) * (1 - 0.5 * row.similarity));
  });
}

/** The row as what is ranked and shown, with the part of its score that its words have. */
export function withParts(row: Features, fts: number): Candidate {
  return {
    kind: row.kind,
    id: row.id,
    conversation_id: row.conversationId,
    agent: row.agent,
    channel: row.channel,
    role: row.role,
    created_at: row.createdAt,
    happened_at: row.happenedAt,
    depth: row.depth,
    summary_kind: row.summaryKind,
    access_count: row.accessCount,
    last_accessed_at: row.lastAccessedAt,
    fts,
    semantic: row.cosine === null ? null : Math.max(0, row.cosine),
    head: row.content,
    whole: row.whole,
  };
}
