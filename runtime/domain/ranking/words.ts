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

/** The same of the window around each candidate: a neighbour's words and length count by its share. */
export function windowWords(input: WordsInput, places: readonly Place[], saturation: Saturation): Float64Array {
  const { terms, averageLength, candidates } = input;
  const total = totalOf(terms);
  const sums = new Float64Array(candidates.length);
  if (total === 0) return sums;
  const lengths = lent(
    candidates.map(({ length }) => length),
    places,
    WINDOW,
  );
  // A full window of average rows; a summary has nothing around it.
  const averages = { ...averageLength, message: averageLength.message * (1 + 2 * WINDOW.near + 2 * WINDOW.far) };
  for (const [n, { idf }] of terms.entries()) {
    const frequencies = lent(
      candidates.map(({ frequencies }) => frequencies[n] ?? 0),
      places,
      WINDOW,
    );
    for (const [index, { kind }] of candidates.entries()) {
      const size = (lengths[index] ?? 0) / averages[kind];
      sums[index] = (sums[index] ?? 0) + (idf / total) * saturated(frequencies[index] ?? 0, size, saturation);
    }
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
