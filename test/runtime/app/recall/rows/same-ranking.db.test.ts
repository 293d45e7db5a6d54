import fc from "fast-check";
import { expect, it } from "vitest";
import { RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import type { Database } from "../../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../../support/databases.ts";
import { expectSame, fill, generator, NOW, searcher, textOf, vectorFor } from "./store.ts";

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

describeEachDatabase("a search with cached rows", (open) => {
  let filled: Promise<Database> | undefined;
  const store = async () => {
    const database = await open({ fresh: true });
    await fill(database, 11);
    return database;
  };

  it("has the same hits in the same order as one that reads everything", async () => {
    filled ??= store();
    const database = await filled;
    const cache = new RowCache();
    // So small that it drops rows all the time, and that the database computes the cosines.
    const small = new RowCache({ rowBytes: 64_000, vectorBytes: 2_000 });
    const [plain, remembering, forgetting] = [null, cache, small].map((one) => searcher(database, one));
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
    expect(cache.bytes.rows).toBeGreaterThan(100_000);
  });
});
