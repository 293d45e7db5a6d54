import type { Database } from "../../../contracts/database.ts";

/** Vectors on their way to the database and out of it, and how near they are to each other. */

/**
 * As a parameter that is compared with stored vectors of the backend's type, in the binary form that this type receives:
 * dimensions, an unused field, the numbers. Text of it would be eight times as long and is read number by number.
 */
export function vectorParameter(backend: Database["backend"], vector: readonly number[]): Buffer {
  const size = backend === "embedded" ? 4 : 2;
  const bytes = Buffer.alloc(HEADER + size * vector.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setInt16(0, vector.length);
  let at = HEADER;
  for (const value of vector) {
    if (size === 4) view.setFloat32(at, value);
    else view.setFloat16(at, value);
    at += size;
  }
  return bytes;
}

/** Dimensions and an unused field, of two bytes each. */
const HEADER = 4;

/** SQL for a vector as `readVector` takes it: stored numbers are half floats in both backends' types. */
export function sentVector(embedding: string): string {
  return `encode(halfvec_send(${embedding}::halfvec), 'base64')`;
}

/** The direction of the vector: with a length of 1, or of NaN when it has none. */
export function readVector(sent: string): Float32Array {
  const bytes = Buffer.from(sent, "base64");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(view.getUint16(0));
  for (let n = 0; n < values.length; n += 1) values[n] = view.getFloat16(HEADER + 2 * n);
  return direction(values);
}

/** A cosine as the database computes it; null for one of no direction. */
export function readCosine(sent: number): number | null {
  return Number.isNaN(sent) ? null : Math.min(1, Math.max(-1, sent));
}

export function queryDirection(vector: readonly number[]): Float32Array {
  return direction(Float32Array.from(vector));
}

function direction(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}

/** Cosine of two directions, -1 to 1; null when one of them has none. */
export function cosineOf(one: Float32Array, other: Float32Array): number | null {
  let even = 0;
  let remainder = 0;
  // Two sums, so that one does not wait for the other.
  for (let n = 0; n + 1 < one.length; n += 2) {
    even += (one[n] ?? 0) * (other[n] ?? 0);
    remainder += (one[n + 1] ?? 0) * (other[n + 1] ?? 0);
  }
  if (one.length % 2 === 1) even += (one[one.length - 1] ?? 0) * (other[one.length - 1] ?? 0);
  return readCosine(even + remainder);
}
