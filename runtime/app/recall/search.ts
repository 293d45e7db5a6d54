import type { Database } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { MemoryHit, SearchMode, SearchScope, Visibility } from "../../contracts/memory.ts";
import { type SearchWeights, searchScore } from "../../domain/scoring.ts";
import { identifiersIn, spellableWords } from "../../domain/search-terms.ts";
import { type Candidate, findCandidates, scored } from "./candidates.ts";
import { loadDetails } from "./expansion.ts";
import type { Filters } from "./filters.ts";
import { findAlike, findMatching } from "./patterns.ts";
import { type AnalyzedQuery, analyzeQuery } from "./query-analysis.ts";
import { partsOf, rank, toHit } from "./ranking.ts";
import { type Embed, vectorText } from "./vectors.ts";

/** memory_search: candidates by words, letters and vectors, ranked by relevance first, the best summaries opened up. */

export interface SearchRequest {
  readonly query: string;
  readonly mode: SearchMode;
  readonly scope: SearchScope;
  readonly limit: number;
  readonly expand: boolean;
  readonly filters: Filters;
  readonly signal?: AbortSignal | undefined;
}

export interface SearchDeps {
  readonly database: Database;
  readonly weights: SearchWeights;
  /** The query's vector by the current model, or null when there is no model or it cannot be reached now. */
  readonly embedQuery: (model: AnalyzedQuery["model"], text: string, signal?: AbortSignal) => ReturnType<Embed>;
  readonly now: () => Date;
  readonly nextNumber: () => number;
}

/** Newest matches that are scored, of each kind. */
const POOL = 800;
const HEAD = 4_000;
const EXPANDED_SUMMARIES = 3;
/** Candidates by words, and as many by vectors. */
const TOP = 100;
/** So many of each bring the messages beside them. */
const BESIDES = 30;
/** What the ranking is told of a content. */
const RANKED_HEAD = 400;
/**
 * When nothing is found, the query's words are looked up as possibly misspelled ones: two letters that changed places
 * leave 0.45 of a word of ten. That is a guess, so it is a quick one.
 */
const MISSPELLED = { likeness: 0.45, deadlineMs: 1_500 };
const MISSPELLED_WORDS = 3;
const ALIKE = { likeness: 0.45, deadlineMs: 5_000 };
const ALIKE_WORDS = 3;
/** What looks like a word of the query is worth half of what is one. */
const ALIKE_WORTH = 0.5;

export async function search(deps: SearchDeps, request: SearchRequest): Promise<MemoryHit[]> {
  request.signal?.throwIfAborted();
  const found = await candidatesOf(deps, request);
  request.signal?.throwIfAborted();
  const score = (parts: Parameters<typeof searchScore>[0]) => searchScore(parts, found.computed, deps.weights);
  const now = deps.now();
  const ranked = rank(found.candidates, now, score);
  const best = ranked.slice(0, request.limit);
  const summaries = request.expand
    ? best.filter(({ candidate }) => candidate.kind === "summary").slice(0, EXPANDED_SUMMARIES)
    : [];
  const details = await loadDetails(
    deps.database,
    best.map(({ candidate }) => candidate).filter(({ whole }) => !whole),
    summaries.map(({ candidate }) => candidate.id),
    request.filters.visibility,
  );
  const known = new Map(ranked.map((one) => [one.candidate.id, one]));
  const under = (candidate: Candidate): MemoryHit => {
    const scores = known.get(candidate.id)?.scores ?? partsOf(candidate, now);
    return toHit({ candidate, scores, score: score(scores) }, candidate.head);
  };
  return best.map((one) => {
    const hit = toHit(one, details.contents.get(`${one.candidate.kind} ${one.candidate.id}`) ?? one.candidate.head);
    const children = details.children.get(hit.id)?.map(under);
    const sources = details.sources.get(hit.id)?.map(under);
    return { ...hit, ...(children ? { children } : {}), ...(sources ? { sources } : {}) };
  });
}

interface Found {
  readonly candidates: readonly Candidate[];
  /** Which parts the search computed. */
  readonly computed: { readonly fts: boolean; readonly semantic: boolean };
}

async function candidatesOf(deps: SearchDeps, request: SearchRequest): Promise<Found> {
  const { database } = deps;
  const { query, mode, scope, filters } = request;
  const pattern = { scope, filters, pool: POOL, top: Math.max(100, request.limit), head: HEAD };
  switch (mode) {
    case "regex": {
      const candidates = await findMatching(database, query, { ...pattern, number: deps.nextNumber() });
      return { candidates, computed: { fts: true, semantic: false } };
    }
    case "trigram": {
      const request = { ...pattern, ...ALIKE, pool: 80, number: deps.nextNumber() };
      const candidates = await findAlike(database, query, spellableWords(query).slice(0, ALIKE_WORDS), request);
      return { candidates, computed: { fts: true, semantic: false } };
    }
    default:
      return byWordsAndVectors(deps, request);
  }
}

async function byWordsAndVectors(deps: SearchDeps, request: SearchRequest): Promise<Found> {
  const { database } = deps;
  const { query, mode, scope, filters } = request;
  const analyzed = await analyzeQuery(database, query, filters);
  if (mode === "vector" && analyzed.model === null) throw noVectors("no embedding model is configured");
  const vector = mode === "fts" ? null : await queryVector(deps, analyzed, request);
  if (mode === "vector" && vector === null) throw noVectors("the embedding model cannot be reached");
  const found = await findCandidates(database, analyzed, {
    scope,
    filters,
    byWords: mode !== "vector",
    identifiers: mode === "hybrid" ? identifiersIn(query) : [],
    vector,
    top: TOP,
    besides: BESIDES,
    head: RANKED_HEAD,
    nextNumber: deps.nextNumber,
  });
  const candidates = scored(
    analyzed,
    found.filter(({ neighbour }) => !neighbour),
  );
  const computed = { fts: mode !== "vector", semantic: vector !== null };
  if (mode !== "hybrid" || candidates.length > 0) return { candidates, computed };
  return { candidates: await misspelled(deps, request), computed };
}

async function queryVector(deps: SearchDeps, { model }: AnalyzedQuery, request: SearchRequest): Promise<string | null> {
  if (model === null) return null;
  const vector = await deps.embedQuery(model, request.query, request.signal);
  return vector === null ? null : vectorText(vector, model.dimensions);
}

async function misspelled(deps: SearchDeps, { query, scope, filters }: SearchRequest): Promise<Candidate[]> {
  const words = spellableWords(query).slice(0, MISSPELLED_WORDS);
  const [longest] = words;
  if (longest === undefined) return [];
  const request = { scope, filters, ...MISSPELLED, pool: 50, top: 50, head: HEAD, number: deps.nextNumber() };
  try {
    const alike = await findAlike(deps.database, longest, words, request);
    return alike.map((one) => ({ ...one, fts: one.fts * ALIKE_WORTH }));
  } catch (error) {
    if (error instanceof MemoryError && error.code === "MEMORY_TIMEOUT") return [];
    throw error;
  }
}

export function noVectors(why: string): MemoryError {
  return new MemoryError("MEMORY_INVALID_ARGUMENT", `Search by vectors is not possible: ${why}.`, {
    hint: "Use the mode hybrid or fts, or set memory.embedding in cairn.yaml.",
    issues: [{ path: "mode", message: why }],
  });
}

/** Filters that everybody passes through here; kept apart so that tools and memory build them alike. */
export function filtersOf(input: {
  readonly agent?: string | undefined;
  readonly since?: Date | undefined;
  readonly before?: Date | undefined;
  readonly visibility?: Visibility | undefined;
}): Filters {
  if (input.since !== undefined && input.before !== undefined && input.since >= input.before) {
    const issues = [{ path: "since", message: "must be earlier than before" }];
    throw new MemoryError("MEMORY_INVALID_ARGUMENT", "`since` must be earlier than `before`.", { issues });
  }
  return input;
}
