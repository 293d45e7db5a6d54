/** What `cairn update` says at its end. */

import { expect, it } from "vitest";
import type { Mark } from "../../../control/output/terminal.ts";
import { updateText } from "../../../control/update/render.ts";
import type { UpdateResult } from "../../../control/update/result.ts";

const same = (text: string): string => text;
const mark: Mark = { title: same, name: same, good: same, warn: same, error: same, dim: same };
const result: UpdateResult = {
  schema: 1,
  outcome: "updated",
  target: "docker",
  from: "0.2.0",
  to: "0.3.0",
  restarted: true,
  reason: null,
  next: null,
};

it.each([
  [{}, "Updated from 0.2.0 to 0.3.0; the gate was passed."],
  [{ from: "0.3.0" }, "Updated to another build of 0.3.0; the gate was passed."],
  [{ outcome: "rolled_back" }, "The update from 0.2.0 to 0.3.0 failed; 0.2.0 runs again."],
  [{ outcome: "rolled_back", restarted: false }, "The update from 0.2.0 to 0.3.0 failed; 0.2.0 is installed again."],
  [
    { outcome: "rolled_back", from: "0.3.0" },
    "The update to another build of 0.3.0 failed; the former one runs again.",
  ],
] as const)("%o", (change, text) => {
  expect(updateText({ ...result, ...change }, mark)).toBe(text);
});
