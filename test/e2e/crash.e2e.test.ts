/**
 * The process is killed in the middle of a turn, at one step of each kind: before and after the message is kept, around
 * the call of a tool, whose effect cannot be taken back, and around the reply. The steps between them: crash.nightly.
 */

import { describe, expect, it } from "vitest";
import { describeKills, STEPS, type Step } from "../support/faults/killed-turns.ts";

const KINDS: readonly string[] = [
  "before inbox:accept 1",
  "after inbox:accept 1",
  "after turn:intention 1",
  "before turn:result 1",
  "after turn:result 1",
  "after turn:finish 1",
  "before outbox:sent 1",
];
const chosen = STEPS.filter(({ when, statement, nth }: Step) => KINDS.includes(`${when} ${statement} ${nth}`));

describe("the steps", () => {
  it("are all there", () => {
    expect(chosen).toHaveLength(KINDS.length);
  });
});

describeKills(chosen);
