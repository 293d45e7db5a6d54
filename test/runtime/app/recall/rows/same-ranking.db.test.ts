import fc from "fast-check";
import { expect, it } from "vitest";
import { RowMemory } from "../../../../../runtime/app/recall/rows/row-memory.ts";
import type { Database } from "../../../../../runtime/contracts/database.ts";
import type { MemoryHit } from "../../../../../runtime/contracts/memory.ts";
import { describeEachDatabase } from "../../../../support/databases.ts";
import { fill, generator, NOW, searcher, textOf, vectorFor } from "./store.ts";

/** The database computes cosines in single precision, the node from the same numbers in double. */
const TOLERANCE = 5e-6;

const MINUTE = 60_000;
const filters = fc.record(
  {
    agent: fc.constantFrom("main", "other"),
    since: fc.integer({ min: 1, max: 4_000 }).map((n) => new Date(NOW.getTime() - n * MINUTE)),
    before: fc.integer({ min: 0, max: 3_000 }).map((n) => new Date(NOW.getTime() - n * MINUTE)),
    visibility: fc.constantFrom(
      { all: true } as const,
      { channel: "agent", user: "user 1" },
      { channel: "elsewhere", user: "user 1" },
    ),
  },
  { requiredKeys: [] },
);
const question = fc.record({
  seed: fc.integer({ min: 1, max: 10_000 }),
  words: fc.integer({ min: 1, max: 7 }),
  named: fc.boolean(),
  mode: fc.constantFrom("hybrid", "fts", "vector"),
  scope: fc.constantFrom("both", "messages", "summaries"),
  filters: fc.oneof(fc.constant({}), filters),
});

describeEachDatabase("a search with remembered rows", (open) => {
  let filled: Promise<Database> | undefined;
  const store = async () => {
    const database = await open({ fresh: true });
    await fill(database, 11);
    return database;
  };

  it("has the same hits in the same order as one that reads everything", async () => {
    filled ??= store();
    const database = await filled;
    const memory = new RowMemory();
    // So small that it drops rows all the time.
    const small = new RowMemory({ rowBytes: 64_000, vectorBytes: 2_000 });
    const [plain, remembering, forgetting] = [null, memory, small].map((one) => searcher(database, one));
    await fc.assert(
      fc.asyncProperty(question, async ({ seed, words, named, ...request }) => {
        const random = generator(seed);
        const asked = {
          ...request,
          query: `${named ? "What did Ada say: " : ""}${textOf(random, words)}`,
          vector: vectorFor(random),
        };
        const expected = (await plain?.(asked)) ?? [];
        expectSame((await remembering?.(asked)) ?? [], expected);
        expectSame((await forgetting?.(asked)) ?? [], expected);
      }),
      { numRuns: 30 },
    );
    expect(memory.bytes.rows).toBeGreaterThan(100_000);
  });
});

function expectSame(hits: readonly MemoryHit[], expected: readonly MemoryHit[]): void {
  expect(hits.map((hit) => ({ ...hit, score: 0, scores: 0 }))).toEqual(
    inTheOrderOf(hits, expected).map((hit) => ({ ...hit, score: 0, scores: 0 })),
  );
  for (const [n, { score, scores }] of hits.entries()) {
    const other = inTheOrderOf(hits, expected)[n];
    expect(Math.abs(score - (other?.score ?? 0))).toBeLessThan(TOLERANCE);
    expect(Math.abs(scores.fts - (other?.scores.fts ?? 0))).toBeLessThan(TOLERANCE);
    expect(Math.abs(scores.semantic - (other?.scores.semantic ?? 0))).toBeLessThan(TOLERANCE);
    expect(scores.temporal).toBe(other?.scores.temporal);
    expect(scores.importance).toBe(other?.scores.importance);
  }
}

/** What was expected; hits whose scores differ by less than the tolerance may have changed places. */
function inTheOrderOf(hits: readonly MemoryHit[], expected: readonly MemoryHit[]): MemoryHit[] {
  const places = new Map(hits.map(({ id }, n) => [id, n]));
  return expected.toSorted((a, b) =>
    Math.abs(a.score - b.score) < TOLERANCE ? (places.get(a.id) ?? -1) - (places.get(b.id) ?? -1) : 0,
  );
}
