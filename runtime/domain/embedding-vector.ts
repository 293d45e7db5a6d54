import { MAX_EMBEDDING_DIMENSIONS } from "../contracts/embedding.ts";

/** Arithmetic of stored vectors: cut to what an index can hold, of length 1, the mean of a long text's parts. */

export type Vector = readonly number[];

/** The vector as it is stored: at most 4,000 dimensions, of length 1; null when it points nowhere. */
export function storedVector(vector: Vector): Vector | null {
  return normalized(vector.length > MAX_EMBEDDING_DIMENSIONS ? vector.slice(0, MAX_EMBEDDING_DIMENSIONS) : vector);
}

/** With length 1; null for one of zeros and for one with a number that is none. */
export function normalized(vector: Vector): Vector | null {
  // Scaled first, so that squares neither overflow nor vanish.
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!Number.isFinite(largest) || largest === 0) return null;
  const scaled = vector.map((value) => value / largest);
  const length = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0));
  return Number.isFinite(length) ? scaled.map((value) => value / length) : null;
}

/**
 * The mean of the directions of a text's parts, weighted by how much text each covers, with length 1. Parts without
 * a direction do not count; where the others cancel out, the first of them is taken. Null without any.
 */
export function meanPooled(parts: readonly { readonly vector: Vector; readonly weight: number }[]): Vector | null {
  const usable = parts.flatMap(({ vector, weight }) => {
    const direction = storedVector(vector);
    return direction === null ? [] : [{ direction, weight }];
  });
  const first = usable[0];
  if (first === undefined || usable.length === 1) return first?.direction ?? null;
  const sum = first.direction.map((_, index) =>
    usable.reduce((total, { direction, weight }) => total + (direction[index] ?? 0) * weight, 0),
  );
  const size = Math.sqrt(sum.reduce((total, value) => total + value * value, 0));
  const total = usable.reduce((all, { weight }) => all + weight, 0);
  return size < 1e-6 * total ? first.direction : normalized(sum);
}
