/** How much an answer may hold: its bounds to the character and to the call, whatever the pieces are. */

import { expect, it } from "vitest";
import { AnswerSize, MOST_ANSWER_CALLS, MOST_ANSWER_CHARACTERS } from "../../../runtime/domain/answer-size.ts";

const sized = () => new AnswerSize((bound) => new Error(bound));

it("takes as many characters as an answer may have, and not one more", () => {
  const size = sized();
  for (let n = 0; n < MOST_ANSWER_CHARACTERS; n += 100_000) size.add("x".repeat(100_000));
  size.add("");
  expect(() => size.add("x")).toThrow("more than 4,000,000 characters");
});

it("takes as many calls as an answer may have, and not one more", () => {
  const size = sized();
  for (let n = 0; n < MOST_ANSWER_CALLS; n++) size.addCall();
  expect(() => size.addCall()).toThrow("more than 1,000 calls of tools");
});
