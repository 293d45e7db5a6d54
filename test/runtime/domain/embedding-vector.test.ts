/** Properties of stored vectors and of the parts of long texts. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meanPooled, normalized, storedVector } from "../../../runtime/domain/embedding-vector.ts";
import { chunksOf } from "../../../runtime/domain/text-chunks.ts";

const lengthOf = (vector: readonly number[]) => Math.hypot(...vector);
const number = fc.double({ min: -1e6, max: 1e6, noNaN: true, noDefaultInfinity: true });
const vector = (size: number) => fc.array(number, { minLength: size, maxLength: size });

describe("a stored vector", () => {
  it("has length 1 and its own direction", () => {
    fc.assert(
      fc.property(vector(5), (given) => {
        const stored = normalized(given);
        if (given.every((value) => value === 0)) return expect(stored).toBeNull();
        expect(lengthOf(stored ?? [])).toBeCloseTo(1, 9);
        const size = lengthOf(given);
        if (size > 1e-300) for (const [at, value] of given.entries()) expect(stored?.[at]).toBeCloseTo(value / size, 6);
      }),
    );
  });

  it("holds for numbers whose squares overflow or vanish", () => {
    expect(normalized([3e200, 4e200])).toEqual([expect.closeTo(0.6, 9), expect.closeTo(0.8, 9)]);
    expect(normalized([3e-200, -4e-200])).toEqual([expect.closeTo(0.6, 9), expect.closeTo(-0.8, 9)]);
    expect(normalized([1, Number.NaN])).toBeNull();
    expect(normalized([1, Number.POSITIVE_INFINITY])).toBeNull();
  });

  it("is cut to 4,000 dimensions and renormalised", () => {
    const stored = storedVector(Array.from({ length: 5_000 }, () => 2));
    expect(stored).toHaveLength(4_000);
    expect(lengthOf(stored ?? [])).toBeCloseTo(1, 9);
  });
});

describe("the mean of parts", () => {
  it("has length 1, whatever the parts' lengths were, and is the same for the same parts in any order", () => {
    const parts = fc.array(fc.record({ vector: vector(3), weight: fc.integer({ min: 1, max: 1_000 }) }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(parts, (given) => {
        const pooled = meanPooled(given);
        const usable = given.filter(({ vector }) => vector.some((value) => value !== 0));
        if (usable.length === 0) return expect(pooled).toBeNull();
        expect(lengthOf(pooled ?? [])).toBeCloseTo(1, 6);
        const only = usable[0];
        if (usable.length === 1 && only) expect(pooled).toEqual(normalized(only.vector));
      }),
    );
  });

  it("lies between its parts, nearer to the one that stands for more text", () => {
    const pooled = meanPooled([
      { vector: [10, 0], weight: 3 },
      { vector: [0, 1], weight: 1 },
    ]);
    expect(pooled).toEqual([expect.closeTo(3 / Math.sqrt(10), 9), expect.closeTo(1 / Math.sqrt(10), 9)]);
  });

  it("is the first part's where the parts cancel out", () => {
    const opposite = [
      { vector: [1, 0], weight: 1 },
      { vector: [-1, 0], weight: 1 },
    ];
    expect(meanPooled(opposite)).toEqual([1, 0]);
  });
});

describe("the parts of a text", () => {
  const unit = fc.constantFrom("a", "word ", "é", "漢", "😀", ". ", "\n", "\n\n", "。");
  const text = fc.array(unit, { maxLength: 400 }).map((units) => units.join(""));

  it("hold all of it but the white space around them, in order, whole characters, within their room", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 80 }), (given, bytes) => {
        const chunks = chunksOf(given, { bytes, most: 10_000 });
        expect(chunks.join("").replaceAll(/\s/g, "")).toBe(given.replaceAll(/\s/g, ""));
        for (const chunk of chunks) {
          expect(Buffer.byteLength(chunk)).toBeLessThanOrEqual(bytes);
          expect(chunk.isWellFormed()).toBe(true);
          expect(chunk.trim()).not.toBe("");
        }
      }),
    );
  });

  it("is one for a short text, none for white space, and at most so many", () => {
    expect(chunksOf("hello there")).toEqual(["hello there"]);
    expect(chunksOf(" \n\t ")).toEqual([]);
    expect(chunksOf("x".repeat(10_000_000))).toHaveLength(256);
  });

  it("end at sentences where there are some", () => {
    const sentence = "This one is about sixty letters long, more or less, I think. ";
    for (const chunk of chunksOf(sentence.repeat(40))) expect(chunk).toMatch(/think\.$/);
  });
});
