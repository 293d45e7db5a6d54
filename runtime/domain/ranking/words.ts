import type { RankingCandidate, RankingTerm } from "./input.ts";
import { type Lending, lent, type Place } from "./scene.ts";

/** How well a row's words match the query's, alone and together with what was said around it: BM25, 0 to 1. */

export interface Saturation {
  /** How soon a further occurrence of a word counts for less. */
  readonly k1: number;
  /** How much a longer row needs more of them, 0 to 1. */
  readonly b: number;
}

/** The usual one: what a hit reports as `fts`. */
export const BM25: Saturation = { k1: 1.2, b: 0.75 };
/** The one that ranks: that a word of the query is there says much, that it is there twice says little. */
export const PRESENCE: Saturation = { k1: 0.3, b: 0.75 };
/** A neighbour's words count in a row's window. */
export const WINDOW: Lending = { near: 0.6, far: 0.36 };

export interface WordsInput {
  readonly terms: readonly RankingTerm[];
  readonly averageLength: Readonly<Record<RankingCandidate["kind"], number>>;
  readonly candidates: readonly RankingCandidate[];
}

/** Of each candidate by its own words, over what a row of many occurrences could have; 0 without terms. */
export function ownWords({ terms, averageLength, candidates }: WordsInput, saturation: Saturation): Float64Array {
  const total = totalOf(terms);
  return Float64Array.from(candidates, ({ kind, length, frequencies }) => {
    const size = length / averageLength[kind];
    let sum = 0;
    for (const [n, { idf }] of terms.entries()) sum += idf * saturated(frequencies[n] ?? 0, size, saturation);
    return total === 0 ? 0 : sum / total;
  });
}

/** Words and lengths of windows: a neighbour's count by its share. Made once for all that is computed from them. */
export interface Windows {
  readonly lengths: Float64Array;
  /** By term, then by candidate. */
  readonly frequencies: readonly Float64Array[];
}

export function windowsOf({ terms, candidates }: WordsInput, places: readonly Place[]): Windows {
  return {
    lengths: lent(
      Float64Array.from(candidates, ({ length }) => length),
      places,
      WINDOW,
    ),
    frequencies: terms.map((_, n) =>
      lent(
        Float64Array.from(candidates, ({ frequencies }) => frequencies[n] ?? 0),
        places,
        WINDOW,
      ),
    ),
  };
}

/** Of each candidate by the words of its window. */
export function windowWords(
  { terms, averageLength, candidates }: WordsInput,
  { lengths, frequencies }: Windows,
  saturation: Saturation,
): Float64Array {
  const total = totalOf(terms);
  const sums = new Float64Array(candidates.length);
  if (total === 0) return sums;
  // A full window of average rows; a summary has nothing around it.
  const averages = { ...averageLength, message: averageLength.message * (1 + 2 * WINDOW.near + 2 * WINDOW.far) };
  for (const [index, { kind }] of candidates.entries()) {
    const size = (lengths[index] ?? 0) / averages[kind];
    let sum = 0;
    for (const [n, { idf }] of terms.entries()) sum += idf * saturated(frequencies[n]?.[index] ?? 0, size, saturation);
    sums[index] = sum / total;
  }
  return sums;
}

function totalOf(terms: readonly RankingTerm[]): number {
  return terms.reduce((sum, { idf }) => sum + idf, 0);
}

/** 0 to 1. */
function saturated(frequency: number, size: number, { k1, b }: Saturation): number {
  if (frequency <= 0) return 0;
  return frequency / (frequency + k1 * (1 - b + b * size));
}
