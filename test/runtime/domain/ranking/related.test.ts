import { describe, expect, it } from "vitest";
import { rankCandidates } from "../../../../runtime/domain/ranking/rank.ts";
import { LEAST_COSINE } from "../../../../runtime/domain/ranking/related.ts";
import { inputOf, row } from "./support.ts";

const relatedOf = (input: Parameters<typeof rankCandidates>[0]) =>
  rankCandidates(input, { temporal: () => 0, isHit: (_, related) => related })
    .map(({ candidate }) => candidate.position)
    .sort((a, b) => a - b);

/** Far from each other: none is the neighbour of another. */
const single = (n: number, fields: Parameters<typeof row>[1]) => row(n * 10, { surrounded: false, ...fields });

describe("rows that have something of what was asked for", () => {
  it("have a word of it, an identifier like one of it, or are near in meaning", () => {
    const rows = [
      single(1, { frequencies: [1], cosine: 0 }),
      single(2, { frequencies: [0], similarity: 0.1 }),
      single(3, { frequencies: [0], cosine: LEAST_COSINE }),
      single(4, { frequencies: [0], cosine: LEAST_COSINE - 0.01 }),
      single(5, { frequencies: [0], cosine: null }),
      single(6, { frequencies: [0], cosine: Number.NaN }),
    ];
    expect(relatedOf(inputOf(rows))).toEqual([10, 20, 30]);
  });

  it("are next to such a row, or one further", () => {
    const near = { frequencies: [0], cosine: 0 };
    const rows = [row(1, near), row(2, near), row(3, near), row(4, { frequencies: [0], cosine: 0.9 }), row(5, near)];
    expect(relatedOf(inputOf(rows))).toEqual([2, 3, 4, 5]);
  });

  it("are all of them where the query names a time or a person", () => {
    const rows = [
      single(1, { frequencies: [0], cosine: 0, speaker: "Ada" }),
      single(2, { frequencies: [0], cosine: 0 }),
    ];
    expect(relatedOf(inputOf(rows, { query: "what is so" }))).toEqual([]);
    expect(relatedOf(inputOf(rows, { query: "what was in May 2023" }))).toEqual([10, 20]);
    expect(relatedOf(inputOf(rows, { query: "what does Ada like" }))).toEqual([10, 20]);
    expect(relatedOf(inputOf(rows, { query: "what do you like" }))).toEqual([]);
  });
});
