import type { ScoreParts } from "../contracts/memory.ts";

/**
 * What a find is worth. Two rankings, because they answer two questions: injection into the prompt uses the
 * specification's formula to the letter, search ranks by relevance first.
 */

const DAY_MS = 86_400_000;

/** `e^(-0.05 * days_since_access) * (1 + 0.02 * access_count)`; an item that was never accessed counts from its creation. */
export function temporalScore(lastAccess: Date, accessCount: number, now: Date): number {
  const days = Math.max(0, now.getTime() - lastAccess.getTime()) / DAY_MS;
  return Math.exp(-0.05 * days) * (1 + 0.02 * accessCount);
}

/** `(fts_rank * 0.3) + (semantic_similarity * 0.3) + (temporal_score * 0.3) + (importance * 0.1)` */
export function relevance(parts: ScoreParts): number {
  return parts.fts * 0.3 + parts.semantic * 0.3 + parts.temporal * 0.3 + parts.importance * 0.1;
}

/** How much each part weighs in a search; they need not add up to 1. */
export interface SearchWeights {
  readonly fts: number;
  readonly semantic: number;
  readonly temporal: number;
  readonly importance: number;
}

/** Relevance decides; recency and importance order what is equally relevant, and are never without effect. */
export const SEARCH_WEIGHTS: SearchWeights = { fts: 0.5, semantic: 0.44, temporal: 0.04, importance: 0.02 };

/**
 * Score of a search hit, 0 to 1. Parts that the search did not compute (no vectors, for instance) take no weight, so that
 * scores of different searches stay comparable.
 */
export function searchScore(
  parts: ScoreParts,
  computed: { readonly fts: boolean; readonly semantic: boolean },
  weights: SearchWeights = SEARCH_WEIGHTS,
): number {
  const fts = computed.fts ? weights.fts : 0;
  const semantic = computed.semantic ? weights.semantic : 0;
  const total = fts + semantic + weights.temporal + weights.importance;
  if (total <= 0) return 0;
  const sum =
    unit(parts.fts) * fts +
    unit(parts.semantic) * semantic +
    unit(parts.temporal) * weights.temporal +
    unit(parts.importance) * weights.importance;
  return sum / total;
}

function unit(value: number): number {
  return Math.min(1, Math.max(0, value));
}
