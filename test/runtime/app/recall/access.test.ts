import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAccessCounter } from "../../../../runtime/app/recall/access.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { MemoryHit } from "../../../../runtime/contracts/memory.ts";

const AT = new Date("2026-01-02T03:04:05.000Z");
const BOUND = 5_000;

function hitsOf(rows: number): MemoryHit[] {
  return Array.from({ length: rows }, () => ({ kind: "message", id: randomUUID() }) as MemoryHit);
}

/** A store that takes writes when it is told to. */
function slowStore() {
  const writes: { readonly counts: readonly number[]; readonly end: () => void; readonly fail: () => void }[] = [];
  const database = {
    transaction: async (work: (tx: { query: (text: string, values?: unknown[]) => unknown }) => unknown) => {
      const ended = Promise.withResolvers<void>();
      const tx = {
        query: async (_: string, values?: unknown[]) => {
          const counts = values?.[2];
          if (Array.isArray(counts)) {
            writes.push({ counts, end: ended.resolve, fail: () => ended.reject(new Error("no room")) });
          }
          return { rows: [], count: 0 };
        },
      };
      const answer = await work(tx);
      await ended.promise;
      return answer;
    },
  } as unknown as Database;
  return { database, writes };
}

describe("counting what answers have handed out", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("writes together what comes within a quarter of a second", async () => {
    const { database, writes } = slowStore();
    const counter = createAccessCounter(database, { warn: () => {} });
    const hits = hitsOf(3);
    counter.count(hits, AT);
    counter.count(hits.slice(1), AT);
    expect(writes).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(250);
    expect(writes.map(({ counts }) => counts)).toEqual([[1, 2, 2]]);
    writes[0]?.end();
    await counter.idle();
  });

  it("holds a bounded number of rows while the store takes none, and tells of the others", async () => {
    const warn = vi.fn();
    const { database, writes } = slowStore();
    const counter = createAccessCounter(database, { warn });
    for (let n = 0; n < 40; n += 1) {
      counter.count(hitsOf(BOUND / 10), AT);
      await vi.advanceTimersByTimeAsync(250);
    }
    const idle = counter.idle();
    for (const { end } of writes) {
      end();
      await vi.advanceTimersByTimeAsync(0);
    }
    await idle;
    expect(writes.map(({ counts }) => counts.length)).toEqual([BOUND / 10, BOUND]);
    expect(warn.mock.calls).toEqual([[{ rows: 40 * (BOUND / 10) - BOUND - BOUND / 10 }, expect.any(String)]]);
  });

  it("is settled when what came during a write is written, too, though that failed", async () => {
    const warn = vi.fn();
    const { database, writes } = slowStore();
    const counter = createAccessCounter(database, { warn });
    await counter.idle();
    counter.count(hitsOf(1), AT);
    const first = counter.idle();
    counter.count(hitsOf(2), AT);
    const second = counter.idle();
    await vi.advanceTimersByTimeAsync(0);
    writes[0]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    writes[1]?.end();
    await Promise.all([first, second]);
    expect(writes.map(({ counts }) => counts.length)).toEqual([1, 2]);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
