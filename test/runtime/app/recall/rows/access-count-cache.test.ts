import { describe, expect, it } from "vitest";
import { AccessCountCache, NEVER } from "../../../../../runtime/app/recall/rows/access-count-cache.ts";

const row = { kind: "message", id: "a" } as const;
const other = { kind: "summary", id: "a" } as const;
const once = { count: 1, lastMs: 1_000 };
const twice = { count: 2, lastMs: 2_000 };

describe("what is known of accesses", () => {
  it("holds at the number at which it was read, and is forgotten at a later one", () => {
    const cache = new AccessCountCache();
    cache.keep(7, row, once);
    cache.keep(7, other, NEVER);
    expect([cache.holdsAt(7), cache.holdsAt(8)]).toEqual([true, false]);
    expect([cache.get(row), cache.get(other)]).toEqual([once, NEVER]);
    cache.keep(6, row, twice);
    expect(cache.get(row)).toEqual(once);
    cache.keep(9, other, twice);
    expect([cache.get(row), cache.get(other)]).toEqual([undefined, twice]);
    expect([cache.holdsAt(7), cache.holdsAt(9)]).toEqual([false, true]);
  });

  it("stays valid after a write of its own when no other write came before it", () => {
    const cache = new AccessCountCache();
    cache.keep(7, row, once);
    cache.keep(7, other, once);
    cache.beginWrite();
    // A search has met the write before this node heard of its end.
    cache.keep(9, other, twice);
    expect(cache.get(other)).toEqual(once);
    cache.endWrite({ before: 7, after: 9, rows: [{ ...row, ...twice }] });
    expect([cache.get(row), cache.get(other)]).toEqual([twice, once]);
    expect(cache.holdsAt(9)).toBe(true);
  });

  it("keeps only what a write of its own has returned when another write came before it, or when it failed", () => {
    const cache = new AccessCountCache();
    cache.keep(7, row, once);
    cache.keep(7, other, once);
    cache.beginWrite();
    cache.endWrite({ before: 8, after: 9, rows: [{ ...row, ...twice }] });
    expect([cache.get(row), cache.get(other)]).toEqual([twice, undefined]);
    cache.beginWrite();
    cache.failWrite();
    expect([cache.get(row), cache.holdsAt(9)]).toEqual([undefined, false]);
    cache.keep(8, row, once);
    expect(cache.get(row)).toEqual(once);
  });

  it("does not go back to a write that a later reading has overtaken", () => {
    const cache = new AccessCountCache();
    cache.keep(12, row, twice);
    cache.beginWrite();
    cache.endWrite({ before: 8, after: 9, rows: [{ ...row, ...once }] });
    expect([cache.get(row), cache.holdsAt(12)]).toEqual([twice, true]);
  });
});
