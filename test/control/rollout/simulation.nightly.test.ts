/** Ten times as many schedules as each run tries, from another seed each night. */

import { expect, it } from "vitest";
import { describeMany, firstSeed, playMany } from "../../support/rollout/many.ts";
import { describePlayed } from "../../support/rollout/simulation.ts";

it("holds what a rollout promises in 10,000 schedules", async () => {
  const many = await playMany(firstSeed(), 10_000);
  process.stdout.write(`${describeMany(many)}\n`);
  expect(many.broken, many.broken === null ? "" : describePlayed(many.broken)).toBeNull();
  expect(Object.entries(many.outcomes).filter(([, times]) => times === 0)).toEqual([]);
});
