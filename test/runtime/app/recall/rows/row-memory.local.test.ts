import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { CachedRow, type RowFacts } from "../../../../../runtime/app/recall/rows/cached-row.ts";
import { RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import { lexemeCounts } from "../../../../../runtime/domain/lexemes.ts";

const MB = 1024 * 1024;

/** Strings as the driver makes them: each of its own. */
const text = (n: number, length: number) => Buffer.from(`${n} `.padEnd(length, "x")).toString();

function row(n: number, facts: Partial<RowFacts> = {}): CachedRow {
  const words = new Map(Array.from({ length: 14 }, (_, word) => [text(n * 100 + word, 9), 1]));
  return new CachedRow(
    {
      kind: "message",
      id: text(n, 36),
      conversationId: text(n, 36),
      seq: n,
      agent: text(n, 8),
      channel: text(n, 8),
      role: "user",
      speaker: null,
      createdMs: n + 0.5,
      happenedMs: n + 0.5,
      depth: null,
      summaryKind: null,
      length: 14,
      words,
      head: text(n, 120),
      whole: true,
      before: [n - 1, n - 2],
      ...facts,
    },
    [n + 1, n + 2],
  );
}

function collected(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") for (let n = 0; n < 3; n += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

it("holds as many rows as its bytes allow, and drops those first that were not asked for the longest", () => {
  const cache = new RowCache({ rowBytes: MB, vectorBytes: MB });
  for (let n = 0; n < 3_000; n += 1) {
    cache.keep(row(n));
    cache.row("message", text(0, 36));
  }
  expect(cache.bytes.rows).toBeLessThanOrEqual(MB);
  expect(cache.bytes.rows).toBeGreaterThan(0.9 * MB);
  expect(cache.message(0)?.facts.seq).toBe(0);
  expect(cache.message(1)).toBeUndefined();
  expect(cache.message(2_999)?.facts.seq).toBe(2_999);
});

it("counts a name of 200 kB and keeps no row that would push out too many others", () => {
  const cache = new RowCache({ rowBytes: MB, vectorBytes: MB });
  cache.keep(row(1));
  cache.keep(row(2, { speaker: "n".repeat(200_000) }));
  expect(cache.row("message", text(1, 36))).toBeDefined();
  expect(cache.row("message", text(2, 36))).toBeUndefined();
  expect(cache.message(2)).toBeUndefined();
  expect(row(3, { speaker: "п".repeat(100_000) }).size).toBeGreaterThan(200_000);
});

it("takes about as many bytes as it counts", () => {
  const bounds = { rowBytes: 16 * MB, vectorBytes: 8 * MB };
  const cache = new RowCache(bounds);
  const before = collected();
  for (let n = 0; n < 20_000; n += 1) {
    cache.keep(row(n));
    cache.keepVector("message", text(n, 36), new Float32Array(384));
  }
  const taken = collected() - before;
  const { rows, vectors } = cache.bytes;
  expect(taken).toBeLessThan(1.1 * (rows + vectors));
  expect(taken).toBeGreaterThan(0.6 * (rows + vectors));
});

it("counts all that its words take, though they were read from texts of 50 kB", () => {
  const cache = new RowCache({ rowBytes: 4 * MB, vectorBytes: MB });
  const before = collected();
  for (let n = 0; n < 600; n += 1) {
    const often = (word: number) => `'${word}':${Array.from({ length: 255 }, (_, at) => at * 60 + word).join()}`;
    const tsvector = `'notwithstanding${n}':16000 ${Array.from({ length: 40 }, (_, word) => often(word)).join(" ")}`;
    cache.keep(row(n, { words: lexemeCounts(Buffer.from(tsvector).toString()) }));
  }
  expect(collected() - before).toBeLessThan(1.5 * cache.bytes.rows);
});

it("forgets everything when the state of the database is another one", () => {
  const cache = new RowCache();
  cache.enter("one");
  cache.keep(row(1));
  cache.keepVector("message", text(1, 36), new Float32Array(4));
  cache.enter("one");
  expect(cache.message(1)).toBeDefined();
  cache.enter("two");
  expect(cache.message(1)).toBeUndefined();
  expect(cache.row("message", text(1, 36))).toBeUndefined();
  expect(cache.vector("message", text(1, 36))).toBeUndefined();
});
