import type { Database } from "../../contracts/database.ts";
import { isOfflineAnswer } from "../../domain/offline-answer.ts";
import type { RankingCandidate } from "../../domain/ranking/input.ts";
import { type Access, type FoundRow, NEVER, type RowRef, rowKey } from "./found.ts";
import type { AnalyzedQuery } from "./query-analysis.ts";
import type { RowFacts } from "./rows/cached-row.ts";
import { cosinesOf } from "./rows/cosines.ts";
import { rowsOf } from "./rows/load-rows.ts";
import type { CachedRows, RowCache } from "./rows/row-cache.ts";
import { similarities } from "./rows/similarity.ts";

/** The features of a row for the ranking: what never changes, and what this search has read and computed of it. */
export type Features = RankingCandidate & RowFacts;

export interface FeatureRequest {
  /** Found rows, best first, each once. */
  readonly rows: readonly FoundRow[];
  /** Of these and of their neighbours, by `rowKey`. */
  readonly accesses: ReadonlyMap<string, Access>;
  /** So many of the messages among them, from the first on, bring their neighbours. */
  readonly withNeighbours: number;
  readonly identifiers: readonly string[];
  /** The query's vector, in the model's dimensions; null without vectors. */
  readonly vector: readonly number[] | null;
}

/**
 * Features of found rows and of their neighbours, each once, in no particular order. Answers that were given without a model
 * are left out: they only repeat what was found then, and would be found in its place.
 */
export async function featuresOf(
  database: Database,
  cache: RowCache,
  query: AnalyzedQuery,
  request: FeatureRequest,
): Promise<Features[]> {
  const { rows: found, identifiers, accesses } = request;
  const surrounded = found.filter(({ kind }) => kind === "message").slice(0, request.withNeighbours);
  const refs = new Map<string, FoundRow>(found.map((row) => [rowKey(row), row]));
  for (const { neighbours = [] } of surrounded) {
    for (const id of neighbours) {
      const neighbour: RowRef = { kind: "message", id };
      if (!refs.has(rowKey(neighbour))) refs.set(rowKey(neighbour), neighbour);
    }
  }
  const cached = cache.of(query.store);
  const lexemes = query.terms.map(({ lexeme }) => lexeme);
  const [read, cosines, similarity] = await Promise.all([
    rowsOf(database, cached, [...refs.values()], lexemes),
    cosinesOfOthers(database, cached, query, { ...request, rows: [...refs.values()] }),
    similarities(database, { rows: found, identifiers }),
  ]);
  const rows = read.filter(({ facts }) => !isOfflineAnswer(facts));
  const foundKeys = new Set(found.map(rowKey));
  const surroundedKeys = new Set(surrounded.map(rowKey));
  return rows.map((row) => {
    const key = rowKey(row.facts);
    const { count, lastMs } = accesses.get(key) ?? NEVER;
    const foundCosine = refs.get(key)?.cosine;
    return {
      ...row.facts,
      head: row.head,
      neighbour: !foundKeys.has(key),
      surrounded: surroundedKeys.has(key),
      frequencies: lexemes.map((lexeme) => row.words.get(lexeme) ?? 0),
      similarity: similarity.get(key) ?? 0,
      cosine: foundCosine === undefined ? (cosines.get(key) ?? null) : foundCosine,
      lastAccessedAt: lastMs === null ? null : new Date(lastMs),
      accessCount: count,
      get importance() {
        return row.importance;
      },
    };
  });
}

/** Of the rows that were not found by their vectors. Rows that are new to the cache come with their vectors, for later searches. */
async function cosinesOfOthers(
  database: Database,
  cached: CachedRows,
  { model, messages }: AnalyzedQuery,
  { rows, vector }: Pick<FeatureRequest, "rows" | "vector">,
): Promise<ReadonlyMap<string, number | null>> {
  if (model === null || vector === null) return new Map();
  const readsVectors = cached.couldHold(messages, model.dimensions);
  const others = rows.filter((row) => row.cosine === undefined || (readsVectors && cached.row(row) === undefined));
  return cosinesOf(database, cached, { rows: others, vector, model, messages });
}
