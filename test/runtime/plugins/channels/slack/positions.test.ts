/** Which conversations are read again, and from where on. */

import { expect, it } from "vitest";
import { createPositions } from "../../../../../runtime/plugins/channels/slack/positions.ts";

const NOW_S = 1_800_000_000;
const at = (secondsBefore: number): string => `${NOW_S - secondsBefore}.000100`;
const made = () => createPositions(() => NOW_S * 1_000);

it("a position never goes back, also where another node has stored an older one", () => {
  const positions = made();
  positions.advance("C01", at(10));
  positions.advance("C01", at(20));
  positions.merge({ C01: at(30), "C01:1700000000.000100": at(5) });
  expect(positions.toJSON()).toEqual({ C01: at(10), "C01:1700000000.000100": at(5) });
});

it("those that were used last are kept, 40 of them", () => {
  const positions = made();
  for (let n = 0; n < 50; n++) positions.advance(`C${n}X`, at(n));
  expect(positions.conversations()).toHaveLength(40);
  expect([positions.of("C39X"), positions.of("C40X")]).toEqual([at(39), undefined]);
});

it("nothing is read that is older than seven days", () => {
  const positions = made();
  positions.advance("C01", at(8 * 86_400));
  expect(positions.of("C01")).toBe(`${NOW_S - 7 * 86_400}.000000`);
});

it.each([[null], [[]], ["text"], [{ C01: 5, c01: at(1), "C01:x": at(1), C02: "1.5", C03: null }]])(
  "what is stored and is no position is passed over: %j",
  (stored) => {
    const positions = made();
    positions.merge(stored);
    expect(positions.conversations()).toEqual([]);
  },
);
