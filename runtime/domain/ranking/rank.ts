import { describe, FEATURES, type FeatureColumns } from "./features.ts";
import type { RankingCandidate, RankingInput } from "./input.ts";
import { WEIGHTS, type Weights } from "./weights.ts";

/** The order of a search's hits: the weighted sum of each candidate's features. */

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
  /**
   * Which candidates can be hits; the others only lend. Default all. `related`: whether the row has anything of what was
   * asked for.
   */
  readonly isHit?: (candidate: Candidate, related: boolean) => boolean;
  /** How many are wanted; default all. Importance is only computed for so many, since it is expensive. */
  readonly best?: number;
  readonly weights?: Weights;
}

/** Best first; of equal scores the newer one, of equal times the greater id, which was given later. */
export function rankCandidates<Candidate extends RankingCandidate>(
  input: RankingInput<Candidate>,
  { temporal, isHit = () => true, best = Number.POSITIVE_INFINITY, weights = WEIGHTS }: RankingOptions<Candidate>,
): RankedCandidate<Candidate>[] {
  const { columns, fts, related } = describe(input, temporal);
  const { sums, total } = weighted(columns, weights, input.candidates.length);
  const leading = input.candidates
    .map((candidate, n) => ({ candidate, score: sums[n] ?? 0, fts: fts[n] ?? 0 }))
    .filter(({ candidate }, n) => isHit(candidate, related[n] === true))
    .sort(bestFirst);
  const most = total + weights.importance;
  return leading
    .slice(0, best)
    .map(({ candidate, score, fts }) => {
      const importance = weights.importance * Math.min(1, Math.max(0, candidate.importance));
      return { candidate, fts, score: most > 0 ? (score + importance) / most : 0 };
    })
    .sort(bestFirst);
}

function bestFirst(a: RankedCandidate<RankingCandidate>, b: RankedCandidate<RankingCandidate>): number {
  return (
    b.score - a.score ||
    b.candidate.happenedAt.getTime() - a.candidate.happenedAt.getTime() ||
    (a.candidate.id < b.candidate.id ? 1 : a.candidate.id > b.candidate.id ? -1 : 0)
  );
}

/** The weighted sums of the features that there are, and what such a sum can be at most. */
function weighted(columns: FeatureColumns, weights: Weights, rows: number): { sums: Float64Array; total: number } {
  const sums = new Float64Array(rows);
  let total = 0;
  for (const feature of FEATURES) {
    const column = columns[feature];
    const weight = weights[feature];
    if (column === null || weight === 0) continue;
    total += weight;
    for (let n = 0; n < rows; n += 1) sums[n] = (sums[n] ?? 0) + weight * (column[n] ?? 0);
  }
  return { sums, total };
}
