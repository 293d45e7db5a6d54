import { expect, it } from "vitest";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { type ChainLink, delegationProblem, isRefusal, outcomeOfEvent } from "../../../runtime/domain/delegation.ts";

/** `@` before a name: a turn of another database. */
const chainOf = (names: readonly string[]): ChainLink[] =>
  names.map((name) => ({ node: "n", agent: name.replace("@", ""), turn_id: "t", own: !name.startsWith("@") }));

it.each([
  ["another agent", ["a"], "b", "here", null],
  ["an agent that is not there", ["a"], "x", "nowhere", "no_target"],
  ["the agent itself", ["a"], "a", "here", "cycle"],
  ["an agent that waits above", ["b", "a"], "a", "here", "cycle"],
  ["an agent that waits above, with a node in between", ["b", "@c", "a"], "a", "here", "cycle"],
  ["an agent of that name, of which one waits elsewhere", ["b", "@a"], "a", "here", null],
  ["an agent of that name elsewhere", ["a"], "a", "elsewhere", null],
  ["the third level", ["c", "b", "a"], "d", "here", null],
  ["the fourth level", ["d", "c", "b", "a"], "e", "here", "too_deep"],
  ["the fourth level over nodes", ["d", "@c", "@b", "@a"], "e", "elsewhere", "too_deep"],
] as const)("hands a task to %s", (_name, chain, target, place, problem) => {
  expect(delegationProblem({ chain: chainOf(chain), target, place, spawned: false, maxDepth: 3 })).toBe(problem);
});

it.each([
  ["a session of its own", ["a"], 3, null],
  ["the fourth level of its own", ["a", "a", "a", "a"], 3, "too_deep"],
  ["a level that the tool does not allow", ["a", "a"], 1, "too_deep"],
  ["a fourth level that the tool allows", ["a", "a", "a", "a"], 9, "too_deep"],
] as const)("spawns %s", (_name, chain, maxDepth, problem) => {
  const request = { chain: chainOf(chain), target: "a", place: "here" as const, spawned: true, maxDepth };
  expect(delegationProblem(request)).toBe(problem);
});

const finished = {
  type: "turn.finished",
  turn_id: "t",
  session: "s",
  text: "the reply",
  usage: { inputTokens: 1, outputTokens: 1 },
  interrupted: false,
} as const;

it("takes the reply of another node in bounds, and says what is missing", () => {
  expect(outcomeOfEvent(finished)).toEqual({ ok: true, text: "the reply", turnId: "t" });
  const long = outcomeOfEvent({ ...finished, text: `${"x".repeat(200_000)}\0` });
  expect(long).toMatchObject({ ok: true, text: expect.stringMatching(/^x{100000}\n\(100001 more characters/) });
  const cut = outcomeOfEvent({ ...finished, interrupted: true, notice: "Stopped after 5 tool iterations." });
  expect(cut).toMatchObject({ ok: true, text: "the reply\n(Stopped after 5 tool iterations.)" });
  expect(outcomeOfEvent({ ...finished, text: "", interrupted: true, notice: "Stopped." })).toMatchObject({
    ok: false,
    code: "RUNTIME_TURN_ABORTED",
  });
});

it("waits on where the other node only shuts down", () => {
  const error = {
    code: "RUNTIME_TURN_INTERRUPTED",
    message: "It goes on.",
    severity: "error",
    retryable: true,
  } as const;
  expect(outcomeOfEvent({ type: "turn.failed", turn_id: "t", session: "s", error })).toBeNull();
  const given = outcomeOfEvent({
    type: "turn.failed",
    turn_id: "t",
    session: "s",
    error: { ...error, retryable: false },
  });
  expect(given).toMatchObject({ ok: false, code: "RUNTIME_TURN_INTERRUPTED" });
});

it.each([
  ["RUNTIME_DRAINING", true],
  ["RUNTIME_NOT_RUNNING", true],
  ["RUNTIME_UNAUTHORIZED", true],
  ["RUNTIME_INTERNAL", false],
  ["RUNTIME_CONFLICT", false],
] as const)("%s says that nothing was accepted: %s", (code, refused) => {
  expect(isRefusal(new RuntimeError(code, "said"))).toBe(refused);
  expect(isRefusal(new Error(code))).toBe(false);
});
