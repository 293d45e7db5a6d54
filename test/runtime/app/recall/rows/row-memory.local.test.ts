import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { KnownRow, type RowFacts } from "../../../../../runtime/app/recall/rows/known-row.ts";
import { RowMemory } from "../../../../../runtime/app/recall/rows/row-memory.ts";
import { lexemeCounts } from "../../../../../runtime/domain/lexemes.ts";

const MB = 1024 * 1024;

/** Strings as the driver makes them: each of its own. */
const text = (n: number, length: number) => Buffer.from(`${n} `.padEnd(length, "x")).toString();

function row(n: number, facts: Partial<RowFacts> = {}): KnownRow {
  const words = new Map(Array.from({ length: 14 }, (_, word) => [text(n * 100 + word, 9), 1]));
  return new KnownRow(
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
  const memory = new RowMemory({ rowBytes: MB, vectorBytes: MB });
  for (let n = 0; n < 3_000; n += 1) {
    memory.keep(row(n));
    memory.row("message", text(0, 36));
  }
  expect(memory.bytes.rows).toBeLessThanOrEqual(MB);
  expect(memory.bytes.rows).toBeGreaterThan(0.9 * MB);
  expect(memory.message(0)?.facts.seq).toBe(0);
  expect(memory.message(1)).toBeUndefined();
  expect(memory.message(2_999)?.facts.seq).toBe(2_999);
});

it("counts a name of 200 kB and keeps no row that would push out too many others", () => {
  const memory = new RowMemory({ rowBytes: MB, vectorBytes: MB });
  memory.keep(row(1));
  memory.keep(row(2, { speaker: "n".repeat(200_000) }));
  expect(memory.row("message", text(1, 36))).toBeDefined();
  expect(memory.row("message", text(2, 36))).toBeUndefined();
  expect(memory.message(2)).toBeUndefined();
  expect(row(3, { speaker: "п".repeat(100_000) }).size).toBeGreaterThan(200_000);
});

it("takes about as many bytes as it counts", () => {
  const bounds = { rowBytes: 16 * MB, vectorBytes: 8 * MB };
  const memory = new RowMemory(bounds);
  const before = collected();
  for (let n = 0; n < 20_000; n += 1) {
    memory.keep(row(n));
    memory.keepVector("message", text(n, 36), new Float32Array(384));
  }
  const taken = collected() - before;
  const { rows, vectors } = memory.bytes;
  expect(taken).toBeLessThan(1.1 * (rows + vectors));
  expect(taken).toBeGreaterThan(0.6 * (rows + vectors));
});

it("counts all that its words take, though they were read from texts of 50 kB", () => {
  const memory = new RowMemory({ rowBytes: 4 * MB, vectorBytes: MB });
  const before = collected();
  for (let n = 0; n < 600; n += 1) {
    const often = (word: number) => `'${word}':${Array.from({ length: 255 }, (_, at) => at * 60 + word).join()}`;
    const tsvector = `'notwithstanding${n}':16000 ${Array.from({ length: 40 }, (_, word) => often(word)).join(" ")}`;
    memory.keep(row(n, { words: lexemeCounts(Buffer.from(tsvector).toString()) }));
  }
  expect(collected() - before).toBeLessThan(1.5 * memory.bytes.rows);
});

it("forgets everything when the state of the database is another one", () => {
  const memory = new RowMemory();
  memory.enter("one");
  memory.keep(row(1));
  memory.keepVector("message", text(1, 36), new Float32Array(4));
  memory.enter("one");
  expect(memory.message(1)).toBeDefined();
  memory.enter("two");
  expect(memory.message(1)).toBeUndefined();
  expect(memory.row("message", text(1, 36))).toBeUndefined();
  expect(memory.vector("message", text(1, 36))).toBeUndefined();
});
