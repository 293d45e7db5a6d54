import { describe, expect, it } from "vitest";
import { AccessMemory, NEVER } from "../../../../../runtime/app/recall/rows/access-memory.ts";

const row = { kind: "message", id: "a" } as const;
const other = { kind: "summary", id: "a" } as const;
const once = { count: 1, lastMs: 1_000 };
const twice = { count: 2, lastMs: 2_000 };

describe("what is known of accesses", () => {
  it("holds at the number at which it was read, and is forgotten at a later one", () => {
    const memory = new AccessMemory();
    memory.keep(7, row, once);
    memory.keep(7, other, NEVER);
    expect([memory.holdsAt(7), memory.holdsAt(8)]).toEqual([true, false]);
    expect([memory.get(row), memory.get(other)]).toEqual([once, NEVER]);
    memory.keep(6, row, twice);
    expect(memory.get(row)).toEqual(once);
    memory.keep(9, other, twice);
    expect([memory.get(row), memory.get(other)]).toEqual([undefined, twice]);
    expect([memory.holdsAt(7), memory.holdsAt(9)]).toEqual([false, true]);
  });

  it("goes on after a write of its own when nobody else wrote before it", () => {
    const memory = new AccessMemory();
    memory.keep(7, row, once);
    memory.keep(7, other, once);
    memory.beginWrite();
    // A search has met the write before this node heard of its end.
    memory.keep(9, other, twice);
    expect(memory.get(other)).toEqual(once);
    memory.endWrite({ before: 7, after: 9, rows: [{ ...row, ...twice }] });
    expect([memory.get(row), memory.get(other)]).toEqual([twice, once]);
    expect(memory.holdsAt(9)).toBe(true);
  });

  it("is only what a write of its own has told when somebody else wrote before it, or when it failed", () => {
    const memory = new AccessMemory();
    memory.keep(7, row, once);
    memory.keep(7, other, once);
    memory.beginWrite();
    memory.endWrite({ before: 8, after: 9, rows: [{ ...row, ...twice }] });
    expect([memory.get(row), memory.get(other)]).toEqual([twice, undefined]);
    memory.beginWrite();
    memory.failWrite();
    expect([memory.get(row), memory.holdsAt(9)]).toEqual([undefined, false]);
    memory.keep(8, row, once);
    expect(memory.get(row)).toEqual(once);
  });

  it("does not go back to a write that a later reading has overtaken", () => {
    const memory = new AccessMemory();
    memory.keep(12, row, twice);
    memory.beginWrite();
    memory.endWrite({ before: 8, after: 9, rows: [{ ...row, ...once }] });
    expect([memory.get(row), memory.holdsAt(12)]).toEqual([twice, true]);
  });
});
