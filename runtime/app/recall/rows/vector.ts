import { embeddingTable } from "../embedding-tables.ts";
import type { EmbeddingModel } from "../query-analysis.ts";

/** Vectors on their way out of the database, and how near they are to each other. */

/** SQL for a vector as `readVector` takes it: stored numbers are half floats in both backends' types. */
export function sentVector(embedding: string): string {
  return `encode(halfvec_send(${embedding}::halfvec), 'base64')`;
}

/** SQL for the vector of a row by the model, null without one. */
export function vectorOf(model: EmbeddingModel, kind: "message" | "summary", id: string): string {
  return `(select ${sentVector("v.embedding")} from ${embeddingTable(model.id)} v where v.kind = '${kind}' and v.id = ${id})`;
}

/** SQL for the cosine of a row's vector and the one that `near` stands for, null without one. */
export function cosineTo(near: string, model: EmbeddingModel, kind: "message" | "summary", id: string): string {
  return `(select ${similarity("v.embedding", near)} from ${embeddingTable(model.id)} v where v.kind = '${kind}' and v.id = ${id})`;
}

/** SQL for the cosine, -1 to 1; NaN when one of them has no direction. */
export function similarity(embedding: string, near: string): string {
  return `(1 - (${embedding} <=> ${near}))`;
}

/** Null for one of no direction. */
export function readCosine(sent: number | null): number | null {
  return sent === null || Number.isNaN(sent) ? null : Math.min(1, Math.max(-1, sent));
}

/** The direction of the vector: with a length of 1, or of NaN when it has none. */
export function readVector(sent: string): Float32Array {
  const bytes = Buffer.from(sent, "base64");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(view.getUint16(0));
  for (let n = 0; n < values.length; n += 1) values[n] = view.getFloat16(HEADER + 2 * n);
  return direction(values);
}

/** Dimensions and an unused field, of two bytes each. */
const HEADER = 4;

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
  const cosine = even + remainder;
  return Number.isNaN(cosine) ? null : Math.min(1, Math.max(-1, cosine));
}
