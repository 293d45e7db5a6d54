import { describe, expect, it } from "vitest";
import { WEIGHTS, weightedBy } from "../../../../runtime/domain/ranking/weights.ts";
import { SEARCH_WEIGHTS } from "../../../../runtime/domain/scoring.ts";

describe("the weights of a configuration", () => {
  it("are the tuned ones where they are the usual ones, in whatever proportion they are written", () => {
    expect(weightedBy(SEARCH_WEIGHTS)).toEqual(WEIGHTS);
    const { fts, semantic, temporal, importance } = SEARCH_WEIGHTS;
    const doubled = weightedBy({
      fts: fts * 2,
      semantic: semantic * 2,
      temporal: temporal * 2,
      importance: importance * 2,
    });
    for (const [feature, weight] of Object.entries(WEIGHTS))
      expect(doubled).toHaveProperty(feature, expect.closeTo(weight, 9));
  });

  it("count a part as much more as its share is larger, and not at all where it is 0", () => {
    const { words, meaning, temporal, importance, date } = weightedBy({
      fts: 0.5,
      semantic: 0,
      temporal: 0.48,
      importance: 0.02,
    });
    expect([words, meaning, importance, date].map((one) => Math.round(one * 1e6) / 1e6)).toEqual([
      WEIGHTS.words,
      0,
      WEIGHTS.importance,
      WEIGHTS.date,
    ]);
    expect(temporal).toBeCloseTo(WEIGHTS.temporal * 12);
    expect(weightedBy({ fts: 0, semantic: 0, temporal: 0, importance: 0 })).toMatchObject({ words: 0, temporal: 0 });
  });
});
