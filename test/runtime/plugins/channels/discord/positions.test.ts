/** Up to where conversations were taken: never back, bounded in number and in age. */

import { expect, it } from "vitest";
import { createPositions } from "../../../../../runtime/plugins/channels/discord/positions.ts";

/** The id of a moment. */
const idAt = (iso: string): string => String(BigInt(Date.parse(iso) - 1_420_070_400_000) << 22n);
const NOW = () => Date.parse("2026-05-10T00:00:00Z");

async function stored(positions: ReturnType<typeof createPositions>): Promise<object | undefined> {
  let written: object | undefined;
  await positions.store(async (value) => {
    written = value;
  });
  return written;
}

it("go on and never back, and are stored where they have changed", async () => {
  const positions = createPositions(NOW);
  const [first, second] = [idAt("2026-05-09T00:00:00Z"), idAt("2026-05-09T00:00:01Z")];
  positions.advance("1", second);
  positions.advance("1", first);
  expect(positions.of("1")).toBe(second);
  expect([positions.isNew({ channel_id: "1", id: second }), positions.isNew({ channel_id: "2", id: first })]).toEqual([
    false,
    true,
  ]);
  expect(await stored(positions)).toEqual({ "1": second });
  expect(await stored(positions)).toBeUndefined();
});

it("are stored again where that failed", async () => {
  const positions = createPositions(NOW);
  positions.advance("1", "5");
  await expect(positions.store(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await stored(positions)).toEqual({ "1": "5" });
});

it("go on from what another node has kept, and from nothing that is none of it", async () => {
  const positions = createPositions(NOW);
  const [mine, other] = [idAt("2026-05-09T00:00:00Z"), idAt("2026-05-09T00:00:01Z")];
  positions.advance("1", mine);
  await stored(positions);
  for (const value of [undefined, null, 7, "x", [], { "1": 7, x: other, "2": "seven", "3": null }])
    positions.merge(value);
  expect(positions.conversations()).toEqual(["1"]);
  positions.merge({ "1": other, "2": mine });
  expect([positions.of("1"), positions.of("2")]).toEqual([other, mine]);
  // It is what is stored.
  expect(await stored(positions)).toBeUndefined();
});

it("are those of the hundred conversations that were used last, and of one that is pinned", () => {
  const positions = createPositions(NOW);
  positions.pin("7");
  positions.advance("7", "5");
  for (let n = 11; n <= 111; n++)
    positions.advance(String(n), String(BigInt(idAt("2026-05-09T00:00:00Z")) + BigInt(n)));
  expect(positions.conversations()).toHaveLength(100);
  expect(positions.conversations()).not.toContain("12");
  expect(positions.conversations()).toEqual(expect.arrayContaining(["7", "13", "111"]));
});

it("reach back seven days at most", () => {
  const positions = createPositions(NOW);
  positions.advance("1", idAt("2026-01-01T00:00:00Z"));
  expect(positions.of("1")).toBe(idAt("2026-05-03T00:00:00Z"));
});
