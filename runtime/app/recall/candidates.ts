import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import type { Role } from "../../contracts/message.ts";
import type { SummaryKind } from "../../contracts/records.ts";
import { type Features, loadFeatures } from "./features.ts";
import type { Filters } from "./filters.ts";
import { findMatches, type RowRef } from "./matches.ts";
import type { AnalyzedQuery } from "./query-analysis.ts";
import { describeRows } from "./rows/describe.ts";
import type { RowMemory } from "./rows/row-memory.ts";
import { nearest } from "./vectors.ts";

/**
 * The bounded set of rows that may answer a query: the best by words, the nearest by vectors, and the messages beside
 * them, each with what the ranking needs to know of it.
 */

export interface CandidateRequest {
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Whether words find rows, and not only score them. */
  readonly byWords: boolean;
  /** Looked up by trigrams beside the stems. */
  readonly identifiers: readonly string[];
  /** The query's vector, in the model's dimensions; null without vectors. */
  readonly vector: readonly number[] | null;
  /** Rows that words find, and rows that vectors find. */
  readonly top: number;
  /** So many of each bring the messages beside them. */
  readonly besides: number;
  /** Units of the content to return. */
  readonly head: number;
  /** What is known of rows already; without it all of it is read. */
  readonly memory?: RowMemory | undefined;
  /** Distinguishes a statement's text, see plannedForItsValues. */
  readonly nextNumber: () => number;
}

/** In no particular order; empty when nothing in the query can be looked up. */
export async function findCandidates(
  database: Database,
  query: AnalyzedQuery,
  request: CandidateRequest,
): Promise<Features[]> {
  const { model } = query;
  const { scope, filters, vector, top, byWords, nextNumber } = request;
  const [matches, near] = await Promise.all([
    byWords ? findMatches(database, query, { scope, filters, identifiers: request.identifiers, top, nextNumber }) : [],
    model === null || vector === null
      ? []
      : nearest(database, model, {
          vector,
          scope,
          filters,
          messages: query.messages,
          visible: query.visible,
          limit: top,
          nextNumber,
        }),
  ]);
  const wanted = {
    rows: inTurns(matches.slice(0, top), near),
    besides: request.besides * (matches.length > 0 && near.length > 0 ? 2 : 1),
    filters,
    identifiers: request.identifiers,
    vector,
    head: request.head,
  };
  return request.memory === undefined
    ? loadFeatures(database, query, wanted)
    : describeRows(database, request.memory, query, wanted);
}

/** One of each after the other, so that the first of both are the first; each row once. */
function inTurns(some: readonly RowRef[], others: readonly RowRef[]): RowRef[] {
  const rows = new Map<string, RowRef>();
  for (let n = 0; n < Math.max(some.length, others.length); n += 1) {
    for (const row of [some[n], others[n]]) if (row !== undefined) rows.set(`${row.kind} ${row.id}`, row);
  }
  return [...rows.values()];
}

/** A row with the parts of its score. */
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
    head: row.head,
    whole: row.whole,
  };
}
