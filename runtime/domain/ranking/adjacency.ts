import { column } from "./column.ts";
import type { RankingCandidate } from "./input.ts";

/**
 * Neighbours of each candidate: the rows directly before and after it, and the other candidates in the same
 * segment. People answer and continue without repeating the topic.
 */

export interface Adjacency {
  /** Index of the candidate before it in its conversation and segment; null when there is none or it is not known. */
  readonly before: number | null;
  readonly after: number | null;
  /** Number of its segment; a summary has one of its own. */
  readonly segment: number;
}

/** After so long a silence people talk about something else. */
const SILENCE_MS = 60 * 60_000;

/** A place for each candidate, at its index. Does not depend on the order of the candidates but for the numbers. */
export function adjacenciesOf(candidates: readonly RankingCandidate[]): readonly Adjacency[] {
  const order = candidates.map((_, index) => index).sort((a, b) => compare(candidates, a, b));
  const before: (number | null)[] = candidates.map(() => null);
  const after: (number | null)[] = candidates.map(() => null);
  const segments: number[] = candidates.map(() => 0);
  let segment = 0;
  for (const [n, index] of order.entries()) {
    const last = order[n - 1];
    if (last !== undefined && together(candidates[last], candidates[index])) {
      // A row that is known to be surrounded by candidates vouches for its two neighbours on each side.
      const vouches = [n - 2, n - 1, n, n + 1].some((at) => {
        const row = candidates[order[at] ?? -1];
        return row?.surrounded === true && row.conversationId === candidates[index]?.conversationId;
      });
      if (vouches) {
        before[index] = last;
        after[last] = index;
      }
    } else {
      segment += 1;
    }
    segments[index] = segment;
  }
  return candidates.map((_, index) => ({
    before: before[index] ?? null,
    after: after[index] ?? null,
    segment: segments[index] ?? 0,
  }));
}

function compare(candidates: readonly RankingCandidate[], a: number, b: number): number {
  const [one, other] = [candidates[a], candidates[b]];
  if (one === undefined || other === undefined) return 0;
  return (
    ordered(one.kind, other.kind) ||
    ordered(one.conversationId ?? "", other.conversationId ?? "") ||
    one.position - other.position ||
    ordered(one.id, other.id)
  );
}

function ordered(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function together(one: RankingCandidate | undefined, other: RankingCandidate | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return (
    one.kind === "message" &&
    other.kind === "message" &&
    one.conversationId !== null &&
    one.conversationId === other.conversationId &&
    Math.abs(other.happenedAt.getTime() - one.happenedAt.getTime()) <= SILENCE_MS
  );
}

/** What a neighbour one and two rows away lends, as a share of its own. */
export interface Lending {
  readonly near: number;
  readonly far: number;
}

/** Each value with shares of those around it added. */
export function lent(values: ArrayLike<number>, places: readonly Adjacency[], { near, far }: Lending): Float64Array {
  const sums = new Float64Array(values.length);
  if (isZero(values)) return sums;
  const at = (index: number | null | undefined) => (index === null || index === undefined ? 0 : (values[index] ?? 0));
  for (const [index, { before, after }] of places.entries()) {
    const beyond = (before === null ? 0 : at(places[before]?.before)) + (after === null ? 0 : at(places[after]?.after));
    sums[index] = (values[index] ?? 0) + near * (at(before) + at(after)) + far * beyond;
  }
  return sums;
}

/** Most words of a query are in few candidates, rare ones in none. */
function isZero(values: ArrayLike<number>): boolean {
  for (let index = 0; index < values.length; index += 1) if (values[index] !== 0) return false;
  return true;
}

/** The three highest values of each candidate's segment, as their sum over three. Values are 0 or more. */
export function bestOfSegment(values: ArrayLike<number>, places: readonly Adjacency[]): Float64Array {
  const best = new Map<number, [number, number, number]>();
  for (const [index, { segment }] of places.entries()) {
    const value = values[index] ?? 0;
    const [first, second, third] = best.get(segment) ?? [0, 0, 0];
    if (value > first) best.set(segment, [value, first, second]);
    else if (value > second) best.set(segment, [first, value, second]);
    else if (value > third || !best.has(segment)) best.set(segment, [first, second, value]);
  }
  return column(places, ({ segment }) => {
    const [first, second, third] = best.get(segment) ?? [0, 0, 0];
    return (first + second + third) / 3;
  });
}
