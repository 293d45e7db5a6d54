import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../contracts/database.ts";
import type { Filters } from "./filters.ts";
import { type AnalyzedQuery, analyzeQuery, type EmbeddingModel } from "./query-analysis.ts";
import type { Embed } from "./vectors.ts";

/** A query taken apart and its vector, which is asked for meanwhile where it is known by which model. */

export interface QueryVectorDeps {
  readonly database: Database;
  /** The query's vector by the current model, or null when there is no model or it cannot be reached now. */
  readonly embedQuery: (model: EmbeddingModel | null, text: string, signal?: AbortSignal) => ReturnType<Embed>;
  /** The model of the search before; without it the vector is asked for when the words have been analyzed. */
  readonly lastModel?: { current: EmbeddingModel | null };
}

export interface QueryVectorRequest {
  readonly query: string;
  readonly filters: Filters;
  /** Whether its vector is wanted. */
  readonly vector: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface QueryWithVector {
  readonly analyzed: AnalyzedQuery;
  /** As the model made it; null when it was not wanted, or there is none. */
  readonly embedded: readonly number[] | null;
}

/** The analysis tells which model is current. That it is still the one of the search before is a guess: another is asked anew. */
export async function analyzeAndEmbed(
  { database, embedQuery, lastModel }: QueryVectorDeps,
  { query, filters, vector, signal }: QueryVectorRequest,
): Promise<QueryWithVector> {
  const guess = vector ? (lastModel?.current ?? null) : null;
  const early = guess === null ? null : embedQuery(guess, query, signal);
  // Who fails first is told; the other is not left without anybody who hears of it.
  early?.catch(() => undefined);
  const analyzed = await analyzeQuery(database, query, filters);
  const { model } = analyzed;
  if (lastModel !== undefined) lastModel.current = model;
  if (!vector || model === null) return { analyzed, embedded: null };
  const asked = early !== null && isDeepStrictEqual(guess, model) ? early : embedQuery(model, query, signal);
  return { analyzed, embedded: await asked };
}
