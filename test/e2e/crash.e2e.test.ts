/**
 * The process is killed in the middle of a turn, at one step of each kind: before and after the message is kept, around
 * the call of a tool, whose effect cannot be taken back, and around the reply; and around a question to the user and its
 * answer. The steps between them: crash.nightly.
 */

import { describe, expect, it } from "vitest";
import { describeKills, STEPS, type Step } from "../support/faults/killed-turns.ts";
import { describeKilledWaits, WAIT_STEPS } from "../support/faults/killed-waits.ts";

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
const WAITS: readonly string[] = [
  "after turn:wait",
  "while it waits",
  "after turn:answer */",
  "after turn:answer */>turn:intention",
];
const chosenWaits = WAIT_STEPS.filter(({ name }) => WAITS.includes(name));

describe("the steps", () => {
  it("are all there", () => {
    expect(chosen).toHaveLength(KINDS.length);
    expect(chosenWaits).toHaveLength(WAITS.length);
  });
});

describeKills(chosen);
describeKilledWaits(chosenWaits);
