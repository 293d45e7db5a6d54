import { describe, expect, it } from "vitest";
import { adjacenciesOf } from "../../../../runtime/domain/ranking/adjacency.ts";
import { BM25, ownWords, windowsOf, windowWords } from "../../../../runtime/domain/ranking/words.ts";
import { row } from "./support.ts";

const averageLength = { message: 10, summary: 60 };
const inputOf = (candidates: readonly ReturnType<typeof row>[]) => ({
  terms: [
    { idf: 3, at: 0 },
    { idf: 1, at: 1 },
  ],
  averageLength,
  candidates,
});

describe("how words match", () => {
  it("is BM25 over what a row of many occurrences could have", () => {
    const [average = 0, long = 0, twice = 0] = ownWords(
      inputOf([
        row(1, { frequencies: [1, 0] }),
        row(2, { frequencies: [1, 0], length: 30 }),
        row(3, { frequencies: [2, 0] }),
      ]),
      BM25,
    );
    expect(average).toBeCloseTo((3 / 4) * (1 / (1 + 1.2)), 9);
    expect(long).toBeCloseTo((3 / 4) * (1 / (1 + 1.2 * (0.25 + 0.75 * 3))), 9);
    expect(twice).toBeCloseTo((3 / 4) * (2 / (2 + 1.2)), 9);
  });

  it("counts a neighbour's words by its share, against a full window of average rows", () => {
    const input = inputOf([row(1, { frequencies: [1, 0] }), row(2, { frequencies: [0, 1] })]);
    const [first = 0] = windowWords(input, windowsOf(input, adjacenciesOf(input.candidates)), BM25);
    const slowness = 1.2 * (0.25 + (0.75 * 16) / 29.2);
    expect(first).toBeCloseTo((3 / 4) * (1 / (1 + slowness)) + (1 / 4) * (0.6 / (0.6 + slowness)), 9);
  });

  it("is 0 without words", () => {
    expect([...ownWords({ ...inputOf([row(1)]), terms: [] }, BM25)]).toEqual([0]);
  });
});
