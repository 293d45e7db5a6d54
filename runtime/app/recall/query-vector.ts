import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../contracts/database.ts";
import type { SearchScope } from "../../contracts/memory.ts";
import { type Filters, isFiltered } from "./filters.ts";
import type { Finding } from "./found.ts";
import { type AnalyzedQuery, analyzeQuery, type EmbeddingModel } from "./query-analysis.ts";
import { type Embed, fitted, nearest } from "./vectors.ts";

/**
 * A query taken apart, and the rows whose vectors are near to its own. Neither waits for the other where it is known by which
 * model the query is to be embedded.
 */

export interface QueryVectorDeps {
  readonly database: Database;
  /** The query's vector by the current model, or null when there is no model or it cannot be reached now. */
  readonly embedQuery: (model: EmbeddingModel | null, text: string, signal?: AbortSignal) => ReturnType<Embed>;
  /** The model of the search before; without it the vector is asked for when the words have been analyzed. */
  readonly lastModel?: { current: EmbeddingModel | null };
  /** Distinguishes a statement's text, see plannedForItsValues. */
  readonly nextNumber: () => number;
}

export interface QueryVectorRequest {
  readonly query: string;
  readonly scope: SearchScope;
  readonly filters: Filters;
  /** Rows that its vector finds; 0 when it is not wanted. */
  readonly limit: number;
  /** So many of them bring their neighbours. */
  readonly withNeighbours: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Near {
  /** The query's, in the model's dimensions. */
  readonly vector: readonly number[];
  readonly found: Finding;
}

export interface QueryWithVector {
  readonly analyzed: AnalyzedQuery;
  /** Null when the vector was not wanted, or there is none. */
  readonly near: Promise<Near | null>;
}

/** The analysis reads which model is current. The query is embedded early with the model of the last search, and again where another one is current. */
export async function analyzeAndEmbed(deps: QueryVectorDeps, request: QueryVectorRequest): Promise<QueryWithVector> {
  const { database, embedQuery, lastModel } = deps;
  const { query, filters, limit, signal } = request;
  const guess = limit > 0 ? (lastModel?.current ?? null) : null;
  const wrong = new AbortController();
  const asking = signal === undefined ? wrong.signal : AbortSignal.any([signal, wrong.signal]);
  const early = guess === null ? null : embedQuery(guess, query, asking);
  // Only what filters let through has to be known before rows are looked up.
  const near = early === null || isFiltered(filters) ? null : nearTo(deps, request, guess, early, NOT_COUNTED);
  // Rejects with the first error; the other promises are marked as handled.
  for (const promise of [early, near]) promise?.catch(() => undefined);
  const analyzed = await analyzeQuery(database, query, filters).catch((error: unknown) => {
    wrong.abort();
    throw error;
  });
  const { model } = analyzed;
  if (lastModel !== undefined) lastModel.current = model;
  if (isDeepStrictEqual(guess, model)) {
    return { analyzed, near: near ?? ignoreRejection(nearTo(deps, request, model, early, analyzed)) };
  }
  wrong.abort();
  const asked = model === null || limit === 0 ? null : embedQuery(model, query, signal);
  return { analyzed, near: ignoreRejection(nearTo(deps, request, model, asked, analyzed)) };
}

const NOT_COUNTED = { messages: 0, visible: 0 };

async function nearTo(
  { database, nextNumber }: QueryVectorDeps,
  { scope, filters, limit, withNeighbours }: QueryVectorRequest,
  model: EmbeddingModel | null,
  asked: ReturnType<Embed> | null,
  { messages, visible }: Pick<AnalyzedQuery, "messages" | "visible">,
): Promise<Near | null> {
  const embedded = await asked;
  if (model === null || embedded === null) return null;
  const vector = fitted(embedded, model.dimensions);
  const found = await nearest(database, model, {
    vector,
    scope,
    filters,
    messages,
    visible,
    limit,
    withNeighbours,
    nextNumber,
  });
  return { vector, found };
}

function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
