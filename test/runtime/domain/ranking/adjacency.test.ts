import { describe, expect, it } from "vitest";
import { adjacenciesOf, bestOfSegment, lent } from "../../../../runtime/domain/ranking/adjacency.ts";
import { row } from "./support.ts";

const SHARES = { near: 0.5, far: 0.25 };

describe("where candidates stand", () => {
  it("lends a row's value to the two on each side in its conversation, by shares", () => {
    const rows = [1, 2, 3, 4, 5, 6].map((position) => row(position));
    expect([...lent([0, 0, 8, 0, 0, 0], adjacenciesOf(rows), SHARES)]).toEqual([2, 4, 8, 4, 2, 0]);
  });

  it("lends nothing across conversations, kinds or an hour of silence", () => {
    const late = new Date(row(2).happenedAt.getTime() + 2 * 3_600_000);
    const rows = [
      row(1),
      row(2, { happenedAt: late }),
      row(1, { id: "other", conversationId: "two" }),
      row(2, { id: "none", conversationId: null }),
      row(3, { id: "summary", kind: "summary" }),
    ];
    expect([...lent([1, 1, 1, 1, 1], adjacenciesOf(rows), SHARES)]).toEqual([1, 1, 1, 1, 1]);
  });

  it("takes rows for neighbours only where a surrounded one vouches for it", () => {
    const rows = [row(1), row(2), row(3), row(90), row(91)].map((one) => ({ ...one, surrounded: false }));
    expect([...lent([1, 1, 1, 1, 1], adjacenciesOf(rows), SHARES)]).toEqual([1, 1, 1, 1, 1]);
    const vouched = rows.map((one) => ({ ...one, surrounded: one.position === 1 }));
    expect([...lent([1, 1, 1, 1, 1], adjacenciesOf(vouched), SHARES)]).toEqual([1.75, 2, 1.75, 1, 1]);
  });

  it("gives each row the best three of its segment, as a third of their sum", () => {
    const late = new Date(row(9).happenedAt.getTime() + 86_400_000);
    const rows = [row(1), row(2), row(3), row(4), row(9, { happenedAt: late })];
    expect([...bestOfSegment([9, 0, 3, 6, 3], adjacenciesOf(rows))]).toEqual([6, 6, 6, 6, 1]);
  });
});
