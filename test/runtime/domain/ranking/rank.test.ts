import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FEATURES, describe as featuresOf } from "../../../../runtime/domain/ranking/features.ts";
import type { RankingCandidate, RankingInput } from "../../../../runtime/domain/ranking/input.ts";
import { rankCandidates } from "../../../../runtime/domain/ranking/rank.ts";
import { WEIGHTS } from "../../../../runtime/domain/ranking/weights.ts";
import { anyInput, inputOf, row } from "./support.ts";

const temporal = () => 0.5;
const rank = (input: RankingInput) => rankCandidates(input, { temporal });
const scoreOf = (input: RankingInput, id: string) => rank(input).find(({ candidate }) => candidate.id === id)?.score;

describe("the ranking of candidates", () => {
  it("gives every candidate once, with a score and a match between 0 and 1, whatever they are", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const ranked = rank(input);
        expect(ranked.map(({ candidate }) => candidate.id).sort()).toEqual(input.candidates.map(({ id }) => id).sort());
        for (const { score, fts } of ranked) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
          expect(fts).toBeGreaterThanOrEqual(0);
          expect(fts).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it("keeps each feature between 0 and 1", () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { columns } = featuresOf(input, () => 7);
        for (const feature of FEATURES) {
          for (const value of columns[feature] ?? []) {
            expect(value, feature).toBeGreaterThanOrEqual(0);
            expect(value, feature).toBeLessThanOrEqual(1);
          }
        }
      }),
    );
  });

  it("does not depend on the order that the candidates come in", () => {
    fc.assert(
      fc.property(anyInput, fc.integer(), (input, seed) => {
        const order = new Map(input.candidates.map(({ id }, n) => [id, Math.sin(seed + n)]));
        const shuffled = [...input.candidates].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
        const [one, other] = [rank(input), rank({ ...input, candidates: shuffled })];
        for (const { candidate, score } of one) {
          const same = other.find((found) => found.candidate.id === candidate.id);
          expect(same?.score).toBeCloseTo(score, 9);
        }
      }),
    );
  });

  it("never ranks a row lower for having more of the words, being nearer in meaning or more important", () => {
    const better: Partial<RankingCandidate>[] = [
      { frequencies: [2, 1, 1] },
      { cosine: 0.9 },
      { importance: 0.9 },
      { similarity: 0.8 },
    ];
    for (const change of better) {
      const rows = Array.from({ length: 9 }, (_, n) =>
        row(n * 10, { surrounded: false, frequencies: [1, 0, n % 2], cosine: 0.2 + n / 100 }),
      );
      const before = inputOf(rows);
      const id = rows[4]?.id ?? "";
      const after = inputOf(rows.map((one) => (one.id === id ? { ...one, ...change } : one)));
      expect(scoreOf(after, id), Object.keys(change).join()).toBeGreaterThan(scoreOf(before, id) ?? 1);
    }
  });

  it("orders equal scores by age, newest first, and equal times by id", () => {
    const at = new Date("2026-03-02T12:00:00Z");
    const rows = [1, 2, 3].map((n) => row(n, { conversationId: null, happenedAt: at, frequencies: [1] }));
    const newer = row(0, { conversationId: null, happenedAt: new Date(at.getTime() + 1), frequencies: [1] });
    const ids = rank(inputOf([...rows, newer])).map(({ candidate }) => candidate.position);
    expect(ids).toEqual([0, 3, 2, 1]);
  });

  it("ranks the answer to a matching question above a row that only mentions as much", () => {
    const asked = row(1, { head: "Where did you go climbing?", frequencies: [1, 1] });
    const answer = row(2, { head: "To the Dolomites.", frequencies: [0, 0] });
    const spoken = row(101, { head: "They were there.", frequencies: [1, 1] });
    const after = row(102, { head: "To the theatre.", frequencies: [0, 0] });
    const order = rank(inputOf([asked, answer, spoken, after])).map(({ candidate }) => candidate.position);
    expect(order.indexOf(2)).toBeLessThan(order.indexOf(102));
  });

  it("ranks what was said in the month that is asked about higher", () => {
    const rows = [row(1, { happenedAt: new Date("2023-05-20") }), row(2, { happenedAt: new Date("2023-08-20") })];
    const input = inputOf(
      rows.map((one) => ({ ...one, frequencies: [1] })),
      { query: "What broke in May 2023?" },
    );
    expect(rank(input)[0]?.candidate.position).toBe(1);
  });

  it("ranks what somebody tells of themselves higher when they are asked about", () => {
    const rows = ["Ada", "Bob"].map((speaker, n) =>
      row(n, { speaker, frequencies: [0, 1], head: `${speaker}: I like tea.` }),
    );
    const terms = [
      { lexeme: "bob", idf: 1 },
      { lexeme: "tea", idf: 1 },
    ];
    expect(rank(inputOf(rows, { query: "Does Bob like tea?", terms }))[0]?.candidate.speaker).toBe("Bob");
    expect(rank(inputOf(rows, { query: "Does Ada like tea?", terms }))[0]?.candidate.speaker).toBe("Ada");
  });

  it("lets a summary with the words outrank a message without them", () => {
    const summary = row(1, { kind: "summary", surrounded: false, length: 60, frequencies: [2, 1] });
    const others = Array.from({ length: 5 }, (_, n) => row(10 + n, { frequencies: [0, 0] }));
    expect(rank(inputOf([...others, summary]))[0]?.candidate.kind).toBe("summary");
  });

  it("counts what a summary says as what its segment says, even without neighbours", () => {
    const summary = row(1, { kind: "summary", surrounded: false, frequencies: [1] });
    const { columns } = featuresOf(inputOf([summary]), temporal);
    expect(columns.session_proximity?.[0]).toBe(columns.window?.[0]);
  });

  it("returns the best that are wanted, only of rows that can be hits", () => {
    const rows = [1, 2, 3, 4].map((n) => row(n * 10, { frequencies: [n], surrounded: false }));
    const ranked = rankCandidates(inputOf(rows), { temporal, best: 2, isHit: ({ position }) => position < 40 });
    expect(ranked.map(({ candidate }) => candidate.position)).toEqual([30, 20]);
  });

  it("has a weight for each feature, none below 0, and some for recency and importance", () => {
    for (const feature of FEATURES) expect(WEIGHTS[feature], feature).toBeGreaterThanOrEqual(0);
    expect(WEIGHTS.temporal).toBeGreaterThan(0);
    expect(WEIGHTS.importance).toBeGreaterThan(0);
  });
});
