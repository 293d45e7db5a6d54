import { unusable } from "./request.ts";

/** Checks that an answer matches the request: so many vectors, of one length, of numbers. */

export function checkedVectors(
  answer: unknown,
  expected: { readonly count: number; readonly dimensions: number | null },
): readonly (readonly number[])[] {
  if (!Array.isArray(answer)) throw unusable("no list of vectors");
  if (answer.length !== expected.count) {
    throw unusable(`${answer.length} vectors for ${expected.count} texts`);
  }
  let dimensions = expected.dimensions;
  return answer.map((vector: unknown) => {
    if (!isVector(vector)) throw unusable("a vector that is not a list of finite numbers");
    dimensions ??= vector.length;
    if (vector.length !== dimensions) {
      throw unusable(`a vector of ${vector.length} dimensions in place of ${dimensions}`);
    }
    return vector;
  });
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((number) => Number.isFinite(number));
}
