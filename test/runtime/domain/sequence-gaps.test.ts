import fc from "fast-check";
import { expect, it } from "vitest";
import { type Span, spansBetween, withoutSeqs } from "../../../runtime/domain/sequence-gaps.ts";

const inside = (spans: readonly Span[], seq: number) => spans.some(({ first, last }) => seq >= first && seq <= last);

it("finds what lies between numbers, and takes numbers out of a span", () => {
  expect(spansBetween(10, [11, 12, 15, 16, 20])).toEqual([
    { first: 13, last: 14 },
    { first: 17, last: 19 },
  ]);
  expect(spansBetween(10, [])).toEqual([]);
  expect(withoutSeqs({ first: 1, last: 5 }, [3, 9, 1])).toEqual([
    { first: 2, last: 2 },
    { first: 4, last: 5 },
  ]);
  expect(withoutSeqs({ first: 4, last: 4 }, [4])).toEqual([]);
});

it("loses no number and invents none", () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }));
  fc.assert(
    fc.property(numbers, numbers, (some, others) => {
      const seen = some.toSorted((a, b) => a - b);
      const gaps = spansBetween(0, seen);
      const rest = gaps.flatMap((gap) => withoutSeqs(gap, others));
      for (let seq = 1; seq <= 60; seq += 1) {
        const missing = seq <= (seen.at(-1) ?? 0) && !seen.includes(seq);
        expect(inside(gaps, seq)).toBe(missing);
        expect(inside(rest, seq)).toBe(missing && !others.includes(seq));
      }
    }),
  );
});
