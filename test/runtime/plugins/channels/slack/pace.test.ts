/** Changes of replies that are being written, of all conversations of a bot. */

import { expect, it } from "vitest";
import { createPace } from "../../../../../runtime/plugins/channels/slack/pace.ts";

it("takes all replies together to no more changes than Slack takes", () => {
  let now = 0;
  const { pauseMs } = createPace(() => now);
  expect(pauseMs("C01")).toBe(3_000);
  const pauses = Array.from({ length: 20 }, (_, n) => pauseMs(`C${n}X`));
  const changesAMinute = 21 * (60_000 / (pauses.at(-1) ?? 0));
  expect(changesAMinute).toBeLessThanOrEqual(50);
  expect(pauseMs("C01")).toBe(pauses.at(-1));
  // Those that are whole do not count any more.
  now += 41_000;
  expect(pauseMs("C01")).toBe(3_000);
});
