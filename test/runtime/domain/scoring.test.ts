import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { relevance, searchScore, temporalScore } from "../../../runtime/domain/scoring.ts";

const now = new Date("2026-03-01T00:00:00Z");
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);
const unit = fc.double({ min: 0, max: 1, noNaN: true });
const parts = fc.record({ fts: unit, semantic: unit, temporal: unit, importance: unit });

describe("temporalScore", () => {
  it("is e^(-0.05 * days) * (1 + 0.02 * accesses)", () => {
    expect(temporalScore(now, 0, now)).toBe(1);
    expect(temporalScore(daysAgo(10), 0, now)).toBeCloseTo(0.60653066, 8);
    expect(temporalScore(daysAgo(10), 5, now)).toBeCloseTo(0.66718373, 8);
  });

  it("takes a time to come for now", () => {
    expect(temporalScore(daysAgo(-3), 0, now)).toBe(1);
  });

  it("falls with age and rises with accesses", () => {
    fc.assert(
      fc.property(fc.nat(400), fc.integer({ min: 1, max: 50 }), fc.nat(100), (days, more, count) => {
        expect(temporalScore(daysAgo(days + more), count, now)).toBeLessThan(temporalScore(daysAgo(days), count, now));
        expect(temporalScore(daysAgo(days), count + more, now)).toBeGreaterThan(
          temporalScore(daysAgo(days), count, now),
        );
      }),
    );
  });
});

describe("relevance", () => {
  it("weighs 0.3, 0.3, 0.3 and 0.1", () => {
    expect(relevance({ fts: 1, semantic: 0, temporal: 0, importance: 0 })).toBeCloseTo(0.3, 12);
    expect(relevance({ fts: 0, semantic: 1, temporal: 0, importance: 0 })).toBeCloseTo(0.3, 12);
    expect(relevance({ fts: 0, semantic: 0, temporal: 1, importance: 0 })).toBeCloseTo(0.3, 12);
    expect(relevance({ fts: 0, semantic: 0, temporal: 0, importance: 1 })).toBeCloseTo(0.1, 12);
    expect(relevance({ fts: 0.5, semantic: 0.4, temporal: 1.2, importance: 0.9 })).toBeCloseTo(0.72, 12);
  });
});

describe("searchScore", () => {
  it("lies between 0 and 1 and never falls when a part rises", () => {
    fc.assert(
      fc.property(
        parts,
        fc.constantFrom("fts", "semantic", "temporal", "importance"),
        fc.boolean(),
        (low, part, semantic) => {
          const computed = { fts: true, semantic };
          const before = searchScore(low, computed);
          expect(before).toBeGreaterThanOrEqual(0);
          expect(before).toBeLessThanOrEqual(1);
          expect(searchScore({ ...low, [part]: 1 }, computed)).toBeGreaterThanOrEqual(before);
        },
      ),
    );
  });

  it("puts what fits above what is new", () => {
    const fitting = { fts: 0.6, semantic: 0, temporal: 0.01, importance: 0.5 };
    const recent = { fts: 0.45, semantic: 0, temporal: 1, importance: 0.9 };
    const computed = { fts: true, semantic: false };
    expect(searchScore(fitting, computed)).toBeGreaterThan(searchScore(recent, computed));
  });

  it("lets the newer of two equally fitting rows win", () => {
    const row = { fts: 0.5, semantic: 0.5, importance: 0.6 };
    const computed = { fts: true, semantic: true };
    expect(searchScore({ ...row, temporal: 0.9 }, computed)).toBeGreaterThan(
      searchScore({ ...row, temporal: 0.1 }, computed),
    );
  });
});
