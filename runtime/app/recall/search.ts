import { MemoryError } from "../../contracts/errors.ts";
import type { MemoryHit, SearchMode, SearchScope, Visibility } from "../../contracts/memory.ts";
import { sanitize } from "../../domain/cap.ts";
import { isOfflineAnswer } from "../../domain/offline-answer.ts";
import { type SearchWeights, searchScore } from "../../domain/scoring.ts";
import { spellableWords } from "../../domain/search-terms.ts";
import type { Candidate } from "./candidates.ts";
import { loadDetails } from "./expansion.ts";
import type { Filters } from "./filters.ts";
import { rowKey } from "./found.ts";
import { findMatching, findSimilar } from "./patterns.ts";
import { partsOf, type Ranked, rank, rankRelevant, toHit } from "./ranking.ts";
import type { RegexLimits } from "./regex-limits.ts";
import { findRelevant, type RelevanceDeps, type RelevanceMode } from "./relevance.ts";

/** memory_search: candidates by words, letters and vectors, ranked by relevance first, the best summaries opened up. */

export interface SearchRequest {
  readonly query: string;
  readonly mode: SearchMode;
  readonly scope: SearchScope;
  readonly limit: number;
  readonly expand: boolean;
  readonly filters: Filters;
  /** The caller, for bounds on single callers. */
  readonly caller: string;
  readonly signal?: AbortSignal | undefined;
  /** See SearchOptions. */
  readonly onTextOnly?: (() => void) | undefined;
}

export interface SearchDeps extends RelevanceDeps {
  readonly weights: SearchWeights;
  readonly regexLimits: RegexLimits;
}

/** Newest matches that are scored, of each kind. */
const POOL = 800;
const HEAD = 4_000;
/** The best that are ranked by importance, too: more than an answer has, so that it changes what is in it. */
const RANKED = 64;
const EXPANDED_SUMMARIES = 3;
/**
 * When nothing is found, the query's words are looked up as possibly misspelled ones: two letters that changed places
 * leave 0.45 of a word of ten. An extra, so its deadline is short.
 */
const MISSPELLED = { similarity: 0.45, deadlineMs: 1_500 };
const MISSPELLED_WORDS = 3;
const SIMILAR = { similarity: 0.45, deadlineMs: 5_000 };
const SIMILAR_WORDS = 3;
/** Every row's letters are compared with all of the query's: so many of them, in UTF-16 units, are. */
const SIMILAR_UNITS = 200;
/** What looks like a word of the query is worth half of what is one. */
const SIMILAR_WORTH = 0.5;

export async function search(deps: SearchDeps, given: SearchRequest): Promise<MemoryHit[]> {
  const request = { ...given, query: sanitize(given.query) };
  request.signal?.throwIfAborted();
  const relevant = await rankedOf(deps, request);
  request.signal?.throwIfAborted();
  const now = deps.now();
  const best = relevant.ranked.slice(0, request.limit);
  const summaries = request.expand
    ? best.filter(({ candidate }) => candidate.kind === "summary").slice(0, EXPANDED_SUMMARIES)
    : [];
  const details = await loadDetails(
    deps.database,
    relevant.store === undefined ? null : deps.rowCache.of(relevant.store),
    {
      wholes: best.map(({ candidate }) => candidate).filter(({ whole }) => !whole),
      summaries: summaries.map(({ candidate }) => candidate),
      visibility: request.filters.visibility,
      now,
    },
  );
  const rankedById = new Map(relevant.ranked.map((one) => [one.candidate.id, one]));
  const under = (candidate: Candidate): MemoryHit => {
    const found = rankedById.get(candidate.id);
    const { scores, score } = found ?? unranked(candidate);
    const access_count = found?.candidate.access_count ?? candidate.access_count;
    return toHit({ candidate: { ...candidate, access_count }, scores, score }, candidate.head);
  };
  const unranked = (candidate: Candidate) => {
    const scores = partsOf(candidate, now);
    return { scores, score: searchScore(scores, relevant.computed, deps.weights) };
  };
  return best.map((one) => {
    const hit = toHit(one, details.contents.get(rowKey(one.candidate)) ?? one.candidate.head);
    const children = details.children.get(hit.id)?.map(under);
    const sources = details.sources.get(hit.id)?.map(under);
    return { ...hit, ...(children ? { children } : {}), ...(sources ? { sources } : {}) };
  });
}

interface Found {
  readonly ranked: readonly Ranked[];
  /** Which parts the search computed. */
  readonly computed: { readonly fts: boolean; readonly semantic: boolean };
  /** Identity of the store; undefined where it was not read. */
  readonly store?: string;
}

function ranked(deps: SearchDeps, candidates: readonly Candidate[], computed: Found["computed"]): Found {
  return { ranked: rank(candidates, deps.now(), (parts) => searchScore(parts, computed, deps.weights)), computed };
}

async function rankedOf(deps: SearchDeps, request: SearchRequest): Promise<Found> {
  const { database } = deps;
  const { query, mode, scope, filters } = request;
  const pattern = { scope, filters, pool: POOL, top: Math.max(100, request.limit), head: HEAD };
  const computed = { fts: true, semantic: false };
  switch (mode) {
    case "regex":
      return ranked(
        deps,
        await deps.regexLimits.run(
          request.caller,
          () => findMatching(database, query, { ...pattern, number: deps.nextNumber() }),
          request.signal,
        ),
        computed,
      );
    case "trigram": {
      const request = { ...pattern, ...SIMILAR, pool: 80, number: deps.nextNumber() };
      const head = query.slice(0, SIMILAR_UNITS);
      const words = spellableWords(head).slice(0, SIMILAR_WORDS);
      return ranked(deps, await findSimilar(database, head, words, request), computed);
    }
    default:
      return byWordsAndVectors(deps, request, mode);
  }
}

async function byWordsAndVectors(deps: SearchDeps, request: SearchRequest, mode: RelevanceMode): Promise<Found> {
  const { input, store } = await findRelevant(deps, { ...request, mode });
  const computed = { fts: mode !== "vector", semantic: input.candidates.some(({ cosine }) => cosine !== null) };
  const found = rankRelevant(input, {
    neighbours: mode !== "fts",
    // Who asks for the nearest gets them, however far they are.
    onlyRelated: mode === "hybrid",
    best: Math.max(RANKED, request.limit),
    weights: deps.weights,
  });
  if (mode === "hybrid" && found.length === 0) return ranked(deps, await misspelled(deps, request), computed);
  return { ranked: found, computed, store };
}

async function misspelled(deps: SearchDeps, { query, scope, filters }: SearchRequest): Promise<Candidate[]> {
  const words = spellableWords(query.slice(0, SIMILAR_UNITS)).slice(0, MISSPELLED_WORDS);
  const [longest] = words;
  if (longest === undefined) return [];
  const request = { scope, filters, ...MISSPELLED, pool: 50, top: 50, head: HEAD, number: deps.nextNumber() };
  try {
    const similar = await findSimilar(deps.database, longest, words, request);
    return similar
      .filter(({ role, head }) => !isOfflineAnswer({ role, content: head }))
      .map((one) => ({ ...one, fts: one.fts * SIMILAR_WORTH }));
  } catch (error) {
    if (error instanceof MemoryError && error.code === "MEMORY_TIMEOUT") return [];
    throw error;
  }
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
