import type { Adjacency } from "./adjacency.ts";
import type { RankingCandidate } from "./input.ts";

/** Which candidates have anything of what was asked for: a search by vectors always finds its nearest, however far they are. */

/**
 * A row with none of the query's words in it or next to it needs to be this close in meaning. Low: encoders differ in the
 * cosines of what is related, and a row that is left out cannot be found again (docs/decisions/046).
 */
export const LEAST_COSINE = 0.2;

/** `words`: what each row and its neighbours have of the query's words, 0 where it is nothing. */
export function relatedOf(
  candidates: readonly RankingCandidate[],
  places: readonly Adjacency[],
  words: ArrayLike<number>,
): readonly boolean[] {
  const own = candidates.map(
    ({ frequencies, similarity, cosine }, n) =>
      (words[n] ?? 0) > 0 ||
      similarity > 0 ||
      (cosine !== null && cosine >= LEAST_COSINE) ||
      frequencies.some((count) => count > 0),
  );
  const at = (index: number | null | undefined) => index !== null && index !== undefined && own[index] === true;
  return places.map(({ before, after }, n) => {
    const further = [before === null ? null : places[before]?.before, after === null ? null : places[after]?.after];
    return [n, before, after, ...further].some(at);
  });
}
