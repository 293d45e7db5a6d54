import { MemoryError } from "../../contracts/errors.ts";
import type { SearchMode, SearchScope } from "../../contracts/memory.ts";
import type { RankingInput } from "../../domain/ranking/input.ts";
import { identifiersIn } from "../../domain/search-terms.ts";
import { findCandidates } from "./candidates.ts";
import type { Features } from "./features.ts";
import type { Filters } from "./filters.ts";
import { analyzeAndEmbed, type QueryVectorDeps } from "./query-vector.ts";
import type { RowCache } from "./rows/row-cache.ts";

/** What may be relevant to a query by its words and its meaning, with the features that the ranking needs. */

export type RelevanceMode = Extract<SearchMode, "hybrid" | "fts" | "vector">;

export interface RelevanceDeps extends QueryVectorDeps {
  readonly rowCache: RowCache;
  readonly now: () => Date;
}

export interface RelevanceRequest {
  readonly query: string;
  readonly mode: RelevanceMode;
  readonly scope: SearchScope;
  readonly filters: Filters;
  readonly signal?: AbortSignal | undefined;
  readonly onTextOnly?: (() => void) | undefined;
}

export interface Relevant {
  readonly input: RankingInput<Features>;
  /** Identity of the store (`AnalyzedQuery.store`). */
  readonly store: string;
}

/** Candidates by words, and as many by vectors. */
const TOP = 40;
/** So many of each bring the messages beside them. */
const WITH_NEIGHBOURS = 14;

/** Rejects with MEMORY_INVALID_ARGUMENT when vectors are asked for and there are none. */
export async function findRelevant(deps: RelevanceDeps, request: RelevanceRequest): Promise<Relevant> {
  const { query, mode, scope, filters, signal } = request;
  const limit = mode === "fts" ? 0 : TOP;
  const { analyzed, near } = await analyzeAndEmbed(deps, {
    query,
    scope,
    filters,
    limit,
    withNeighbours: WITH_NEIGHBOURS * (mode === "hybrid" ? 2 : 1),
    signal,
  });
  if (mode === "vector" && analyzed.model === null) throw noVectors("no embedding model is configured");
  if (mode === "vector" && (await near) === null) throw noVectors("the embedding model cannot be reached");
  const candidates = await findCandidates(deps.database, deps.rowCache, analyzed, {
    scope,
    filters,
    byWords: mode !== "vector",
    identifiers: mode === "hybrid" ? identifiersIn(query) : [],
    near: mode === "fts" ? null : near,
    top: TOP,
    withNeighbours: WITH_NEIGHBOURS,
    nextNumber: deps.nextNumber,
  });
  if (mode === "hybrid" && (await near) === null) request.onTextOnly?.();
  const input = {
    terms: mode === "vector" ? [] : analyzed.terms,
    averageLength: analyzed.averageLength,
    query,
    now: deps.now(),
    candidates,
  };
  return { input, store: analyzed.store };
}

function noVectors(why: string): MemoryError {
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `Search by vectors is not possible: ${why}.`, {
    hint: "Use the mode hybrid or fts, or set memory.embedding in cairn.yaml.",
    issues: [{ path: "mode", message: why }],
  });
}
