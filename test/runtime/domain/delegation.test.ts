import { expect, it } from "vitest";
import { delegationProblem } from "../../../runtime/domain/delegation.ts";

const agents = new Set(["a", "b", "c", "d", "e"]);

it.each([
  ["another agent", ["a"], "b", false, null],
  ["an agent that is not there", ["a"], "x", false, "no_target"],
  ["the agent itself", ["a"], "a", false, "cycle"],
  ["an agent that waits above", ["b", "a"], "a", false, "cycle"],
  ["a session of its own", ["a"], "a", true, null],
  ["the third level", ["c", "b", "a"], "d", false, null],
  ["the fourth level", ["d", "c", "b", "a"], "e", false, "too_deep"],
  ["the fourth level of its own", ["a", "a", "a", "a"], "a", true, "too_deep"],
] as const)("hands a task to %s", (_name, chain, target, spawned, problem) => {
  expect(delegationProblem({ chain, target, spawned, agents })).toBe(problem);
});
