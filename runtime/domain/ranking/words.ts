import { type Adjacency, type Lending, lent } from "./adjacency.ts";
import { column } from "./column.ts";
import type { RankingCandidate } from "./input.ts";

/** How well a row's words match the query's, alone and together with its neighbours: BM25, 0 to 1. */

export interface Saturation {
  /** How soon a further occurrence of a word counts for less. */
  readonly k1: number;
  /** How much a longer row needs more of them, 0 to 1. */
  readonly b: number;
}

/** The usual one: what a hit reports as `fts`. */
export const BM25: Saturation = { k1: 1.2, b: 0.75 };
/** The one that ranks: that a word of the query is there counts much, that it is there twice counts little. */
export const PRESENCE: Saturation = { k1: 0.3, b: 0.75 };
/** A neighbour's words count in a row's window. */
export const WINDOW: Lending = { near: 0.6, far: 0.36 };

export interface WordsInput {
  readonly terms: readonly CountedTerm[];
  readonly averageLength: Readonly<Record<RankingCandidate["kind"], number>>;
  readonly candidates: readonly RankingCandidate[];
}

export interface CountedTerm {
  readonly idf: number;
  /** Its index in the candidates' frequencies. */
  readonly at: number;
}

/** Of each candidate by its own words, over what a row of many occurrences could have; 0 without terms. */
export function ownWords(input: WordsInput, saturation: Saturation): Float64Array {
  const { terms, candidates } = input;
  const lengths = column(candidates, ({ length }) => length);
  const frequencies = terms.map(({ at }) => column(candidates, (one) => one.frequencies[at] ?? 0));
  return matched(input, { lengths, frequencies }, input.averageLength, saturation);
}

/** Words and lengths of windows: a neighbour's count by its share. Made once for all that is computed from them. */
export interface Windows {
  readonly lengths: Float64Array;
  /** By term, then by candidate. */
  readonly frequencies: readonly Float64Array[];
}

export function windowsOf({ terms, candidates }: WordsInput, places: readonly Adjacency[]): Windows {
  return {
    lengths: lent(
      column(candidates, ({ length }) => length),
      places,
      WINDOW,
    ),
    frequencies: terms.map(({ at }) =>
      lent(
        column(candidates, (one) => one.frequencies[at] ?? 0),
        places,
        WINDOW,
      ),
    ),
  };
}

/** Of each candidate by the words of its window. */
export function windowWords(input: WordsInput, windows: Windows, saturation: Saturation): Float64Array {
  const { message, summary } = input.averageLength;
  // A full window of average rows; a summary has nothing around it.
  const averages = { summary, message: message * (1 + 2 * WINDOW.near + 2 * WINDOW.far) };
  return matched(input, windows, averages, saturation);
}

/** Loops over plain numbers, for speed: this runs for every word of every candidate. */
function matched(
  { terms, candidates }: WordsInput,
  { lengths, frequencies }: Windows,
  averages: WordsInput["averageLength"],
  { k1, b }: Saturation,
): Float64Array {
  const total = terms.reduce((sum, { idf }) => sum + idf, 0);
  const sums = new Float64Array(candidates.length);
  if (total === 0) return sums;
  const slowness = column(candidates, ({ kind }, index) => k1 * (1 - b + (b * (lengths[index] ?? 0)) / averages[kind]));
  for (let n = 0; n < terms.length; n += 1) {
    const counts = frequencies[n];
    const share = (terms[n]?.idf ?? 0) / total;
    if (counts === undefined) continue;
    for (let index = 0; index < sums.length; index += 1) {
      const frequency = counts[index] ?? 0;
      if (frequency > 0) sums[index] = (sums[index] ?? 0) + (share * frequency) / (frequency + (slowness[index] ?? 0));
    }
  }
  return sums.map((sum) => Math.min(1, sum));
}
