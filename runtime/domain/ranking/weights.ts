import { SEARCH_WEIGHTS, type SearchWeights } from "../scoring.ts";
import type { Feature } from "./features.ts";

export type Weights = Readonly<Record<Feature | "importance", number>>;

/**
 * How much each feature counts. All but the last two are fitted to questions about long conversations (docs/search.md describes how
 * and how well they do on others), then rounded. What those cannot show, the weights of recency and importance, is set:
 * enough to order what is equally relevant, never without effect.
 */
export const WEIGHTS: Weights = {
  words: 2.7,
  window: 5.8,
  session_proximity: 4.9,
  answer: 3.2,
  meaning: 5,
  speaker: 1.1,
  participant: 4.9,
  date: 11.4,
  statement: 0.6,
  temporal: 0.5,
  importance: 0.2,
};

/**
 * The tuned weights with those of a configuration: each of its four parts counts as much more or less as its share differs
 * from the usual one. People and times count as usual.
 */
export function weightedBy(given: SearchWeights): Weights {
  const of = (part: keyof SearchWeights): number => {
    const whole = sumOf(given);
    return whole > 0 ? given[part] / whole / (SEARCH_WEIGHTS[part] / sumOf(SEARCH_WEIGHTS)) : 0;
  };
  const fts = of("fts");
  return {
    ...WEIGHTS,
    words: WEIGHTS.words * fts,
    window: WEIGHTS.window * fts,
    session_proximity: WEIGHTS.session_proximity * fts,
    answer: WEIGHTS.answer * fts,
    meaning: WEIGHTS.meaning * of("semantic"),
    temporal: WEIGHTS.temporal * of("temporal"),
    importance: WEIGHTS.importance * of("importance"),
  };
}

function sumOf({ fts, semantic, temporal, importance }: SearchWeights): number {
  return fts + semantic + temporal + importance;
}
