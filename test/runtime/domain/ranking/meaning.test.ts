import { describe, expect, it } from "vitest";
import { adjacenciesOf } from "../../../../runtime/domain/ranking/adjacency.ts";
import { meaning } from "../../../../runtime/domain/ranking/meaning.ts";
import { row } from "./support.ts";

const apart = (cosines: readonly (number | null)[]) => {
  const rows = cosines.map((cosine, n) => row(n, { cosine, conversationId: null }));
  return [...(meaning(rows, adjacenciesOf(rows)) ?? [])];
};

describe("nearness in meaning", () => {
  it("is null without vectors", () => {
    expect(meaning([row(1)], adjacenciesOf([row(1)]))).toBeNull();
  });

  it("is the same for an encoder that gives everything higher cosines", () => {
    const low = apart([0.1, 0.2, 0.5, 0.3]);
    const high = apart([0.5, 0.6, 0.9, 0.7]);
    for (const [n, value] of low.entries()) expect(high[n]).toBeCloseTo(value, 9);
  });

  it("puts a row without a vector in the middle, and next to near rows above it", () => {
    expect(apart([0.1, 0.3, null])[2]).toBeCloseTo(0.5, 9);
    const rows = [row(1, { cosine: 0.8 }), row(2), row(50, { cosine: 0.1, conversationId: "two" })];
    const [, adjacent = 0, far = 1] = meaning(rows, adjacenciesOf(rows)) ?? [];
    expect(adjacent).toBeGreaterThan(far);
  });

  it("makes little of the differences of few rows", () => {
    const [first = 0, second = 1] = apart([0.31, 0.3]);
    expect(first - second).toBeLessThan(0.05);
    expect(apart([0.3])).toEqual([0.5]);
    const many = apart(Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? 0.31 : 0.3)));
    expect((many[0] ?? 0) - (many[1] ?? 0)).toBeGreaterThan(0.1);
  });
});
