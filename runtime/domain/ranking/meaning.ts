import type { Adjacency } from "./adjacency.ts";
import { column } from "./column.ts";
import type { RankingCandidate } from "./input.ts";

/** Similarity in meaning of a row and its neighbours to the query, 0 to 1, among the candidates. */

/** A neighbour's share in the mean over a window. */
const SHARE = { near: 0.5, far: 0.25 };
/**
 * Encoders differ in what cosines they give to what is unrelated: .1 with one, .7 with another. So a cosine is taken for how
 * many deviations it is from the candidates' mean; a few candidates do not make a deviation, so this one is mixed in.
 */
const USUAL_DEVIATION = 0.1;
const USUAL_WEIGHT = 4;
const DEVIATIONS = 3;

/**
 * Null when no candidate has a cosine. A row that has none yet (its vector is still to come) borrows from those around it,
 * and gets the mean when they have none, too.
 */
export function meaning(candidates: readonly RankingCandidate[], places: readonly Adjacency[]): Float64Array | null {
  const cosines = candidates.map(({ cosine }) => (cosine === null || !Number.isFinite(cosine) ? null : cosine));
  if (cosines.every((cosine) => cosine === null)) return null;
  const means = places.map((place, index) => windowMean(cosines, places, place, index));
  const present = means.filter((mean) => mean !== null);
  const middle = present.reduce((sum, mean) => sum + mean, 0) / present.length;
  const squares = present.reduce((sum, mean) => sum + (mean - middle) ** 2, 0);
  const deviation = Math.sqrt((squares + USUAL_WEIGHT * USUAL_DEVIATION ** 2) / (present.length + USUAL_WEIGHT));
  return column(means, (mean) => {
    const deviations = ((mean ?? middle) - middle) / deviation;
    return (Math.min(DEVIATIONS, Math.max(-DEVIATIONS, deviations)) + DEVIATIONS) / (2 * DEVIATIONS);
  });
}

function windowMean(
  cosines: readonly (number | null)[],
  places: readonly Adjacency[],
  { before, after }: Adjacency,
  index: number,
): number | null {
  let sum = 0;
  let weight = 0;
  const add = (at: number | null | undefined, share: number) => {
    const cosine = at === null || at === undefined ? null : (cosines[at] ?? null);
    if (cosine === null) return;
    sum += cosine * share;
    weight += share;
  };
  add(index, 1);
  add(before, SHARE.near);
  add(after, SHARE.near);
  if (before !== null) add(places[before]?.before, SHARE.far);
  if (after !== null) add(places[after]?.after, SHARE.far);
  return weight === 0 ? null : sum / weight;
}
