import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { CachedRow, type RowFacts } from "../../../../../runtime/app/recall/rows/cached-row.ts";
import { CachedRows, RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import { lexemeCounts } from "../../../../../runtime/domain/lexemes.ts";

const MB = 1024 * 1024;

/** Strings as the driver makes them: each of its own. */
const text = (n: number, length: number) => Buffer.from(`${n} `.padEnd(length, "x")).toString();

const ref = (n: number) => ({ kind: "message", id: text(n, 36) }) as const;

function row(n: number, facts: Partial<RowFacts> = {}, words = wordsOf(n)): CachedRow {
  return new CachedRow(
    {
      ...ref(n),
      conversationId: text(n, 36),
      position: n,
      agent: text(n, 8),
      channel: text(n, 8),
      role: "user",
      speaker: null,
      createdAt: new Date(n),
      happenedAt: new Date(n),
      depth: null,
      summaryKind: null,
      length: 14,
      content: text(n, 120),
      whole: true,
      ...facts,
    },
    words,
  );
}

function wordsOf(n: number): ReadonlyMap<string, number> {
  return new Map(Array.from({ length: 14 }, (_, word) => [text(n * 100 + word, 9), 1]));
}

function collected(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") for (let n = 0; n < 3; n += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

it("holds as many rows as its bytes allow, and drops those first that were not asked for the longest", () => {
  const cache = new CachedRows({ rowBytes: MB, vectorBytes: MB });
  for (let n = 0; n < 3_000; n += 1) {
    cache.keep(row(n));
    cache.row(ref(0));
  }
  expect(cache.bytes.rows).toBeLessThanOrEqual(MB);
  expect(cache.bytes.rows).toBeGreaterThan(0.9 * MB);
  expect(cache.row(ref(0))?.facts.position).toBe(0);
  expect(cache.row(ref(1))).toBeUndefined();
  expect(cache.row(ref(2_999))?.facts.position).toBe(2_999);
});

it("counts a name of 200 kB and keeps no row that would push out too many others", () => {
  const cache = new CachedRows({ rowBytes: MB, vectorBytes: MB });
  cache.keep(row(1));
  cache.keep(row(2, { speaker: "n".repeat(200_000) }));
  expect(cache.row(ref(1))).toBeDefined();
  expect(cache.row(ref(2))).toBeUndefined();
  expect(row(3, { speaker: "п".repeat(100_000) }).size).toBeGreaterThan(200_000);
});

it.each([120, 3_900])("takes about as many bytes as it counts, of contents of %i characters", (length) => {
  const cache = new CachedRows({ rowBytes: 16 * MB, vectorBytes: 8 * MB });
  const before = collected();
  for (let n = 0; n < 20_000; n += 1) {
    cache.keep(row(n, { content: text(n, length) }));
    cache.keepVector(ref(n), new Float32Array(384));
  }
  const taken = collected() - before;
  const { rows, vectors } = cache.bytes;
  expect(taken).toBeLessThan(1.1 * (rows + vectors));
  expect(taken).toBeGreaterThan(0.6 * (rows + vectors));
});

it("counts all that its words take, though they were read from texts of 50 kB", () => {
  const cache = new CachedRows({ rowBytes: 4 * MB, vectorBytes: MB });
  const before = collected();
  for (let n = 0; n < 600; n += 1) {
    const often = (word: number) => `'${word}':${Array.from({ length: 255 }, (_, at) => at * 60 + word).join()}`;
    const tsvector = `'notwithstanding${n}':16000 ${Array.from({ length: 40 }, (_, word) => often(word)).join(" ")}`;
    cache.keep(row(n, {}, lexemeCounts(Buffer.from(tsvector).toString())));
  }
  expect(collected() - before).toBeLessThan(1.5 * cache.bytes.rows);
});

it("forgets everything when the store is another one, and a search that began before keeps nothing for it", () => {
  const cache = new RowCache();
  const one = cache.of("one");
  one.keep(row(1));
  one.keepVector(ref(1), new Float32Array(4));
  expect(cache.of("one").row(ref(1))).toBeDefined();
  const two = cache.of("two");
  one.keep(row(2));
  expect([two.row(ref(1)), two.row(ref(2)), two.vector(ref(1))]).toEqual([undefined, undefined, undefined]);
});

it("cuts a content where the database would, between characters", () => {
  const head = "🙂".repeat(400);
  expect(row(1, { content: `${head}🙂 and more` }).head).toBe(head);
});
