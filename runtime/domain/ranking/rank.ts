import { describe, FEATURES, type FeatureColumns } from "./features.ts";
import type { RankingCandidate, RankingInput } from "./input.ts";
import { WEIGHTS, type Weights } from "./weights.ts";

/** The order of a search's hits: what speaks for each candidate, weighted and added up. */

export interface RankedCandidate<Candidate> {
  readonly candidate: Candidate;
  /** 0 to 1. Comparable within one search. */
  readonly score: number;
  /** BM25 of its words and, by a share, of those around it, 0 to 1. */
  readonly fts: number;
}

export interface RankingOptions<Candidate> {
  /** Of age and accesses; what is above 1 counts as 1. */
  readonly temporal: (candidate: Candidate) => number;
  readonly weights?: Weights;
}

/** Best first; of equal scores the newer one, of equal times the greater id, which was given later. */
export function rankCandidates<Candidate extends RankingCandidate>(
  input: RankingInput<Candidate>,
  { temporal, weights = WEIGHTS }: RankingOptions<Candidate>,
): RankedCandidate<Candidate>[] {
  const { columns, fts } = describe(input, temporal);
  const scores = scoresOf(columns, weights, input.candidates.length);
  return input.candidates
    .map((candidate, n) => ({ candidate, score: scores[n] ?? 0, fts: fts[n] ?? 0 }))
    .sort(
      (a, b) =>
        b.score - a.score ||
        b.candidate.happenedAt.getTime() - a.candidate.happenedAt.getTime() ||
        (a.candidate.id < b.candidate.id ? 1 : a.candidate.id > b.candidate.id ? -1 : 0),
    );
}

/** The weighted mean of the features that there are. */
export function scoresOf(columns: FeatureColumns, weights: Weights, rows: number): Float64Array {
  const sums = new Float64Array(rows);
  let total = 0;
  for (const feature of FEATURES) {
    const column = columns[feature];
    const weight = weights[feature];
    if (column === null || weight === 0) continue;
    total += weight;
    for (let n = 0; n < rows; n += 1) sums[n] = (sums[n] ?? 0) + weight * (column[n] ?? 0);
  }
  return total > 0 ? sums.map((sum) => sum / total) : sums;
}
