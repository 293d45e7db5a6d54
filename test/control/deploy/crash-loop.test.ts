import { describe, expect, it } from "vitest";
import { beginHistory, follow, type Started, startState } from "../../../control/deploy/crash-loop.ts";

const starting = (restarts = 0): Started => ({ state: "running", health: "starting", restarts });
const restarting = (restarts: number, reason = "it ends again and again (exit code 1)"): Started => ({
  state: "stopped",
  health: "unhealthy",
  restarts,
  reason,
});
const ended: Started = { state: "stopped", health: "unknown", restarts: 0, reason: "it ended with exit code 3" };
const healthy = (restarts = 0): Started => ({ state: "running", health: "healthy", restarts });
const pending: Started = { state: "stopped", health: "starting", restarts: null };

/** The state after these observations, one a second. */
function after(observations: readonly Started[], restartsBefore: number | null = null) {
  let history = beginHistory(restartsBefore);
  let state = "";
  for (const [second, seen] of observations.entries()) {
    history = follow(history, seen, second * 1_000);
    const now = startState(history, seen, second * 1_000);
    state = now.kind === "failed" ? `failed: ${now.why}` : now.kind;
  }
  return state;
}

describe("what was started", () => {
  it.each<[string, readonly Started[], number | null, string]>([
    ["serves once it is healthy", [starting(), healthy()], null, "healthy"],
    ["may still come after its first end", [starting(), restarting(1), starting(1)], null, "starting"],
    ["serves although it had ended once", [restarting(1), healthy(1)], null, "healthy"],
    [
      "has failed at its second end",
      [restarting(1), restarting(2)],
      null,
      "failed: it ends again and again (exit code 1)",
    ],
    [
      "has failed for what was seen before it was started again",
      [restarting(1, "it needs more memory"), starting(2)],
      null,
      "failed: it needs more memory",
    ],
    ["has failed although it runs just now", [starting(2)], null, "failed: it ends again and again"],
    [
      "may still come where it stands in the place of one that had ended often",
      [starting(0), starting(1)],
      40,
      "starting",
    ],
    [
      "has failed at the second end of the new one there",
      [starting(0), restarting(2)],
      40,
      "failed: it ends again and again (exit code 1)",
    ],
    ["is not blamed for ends of former days", [starting(7)], 7, "starting"],
    [
      "is blamed for two more of them",
      [starting(7), restarting(9)],
      7,
      "failed: it ends again and again (exit code 1)",
    ],
    ["gets a moment where it does not run", [ended, ended], null, "starting"],
    [
      "has failed where it does not run and nothing starts it",
      Array(6).fill(ended),
      null,
      "failed: it ended with exit code 3",
    ],
    [
      "has failed where it is gone",
      Array(6).fill({ ...ended, state: "missing", reason: null }),
      null,
      "failed: it is gone",
    ],
    ["is waited for while its machine makes it", Array(30).fill(pending), null, "starting"],
    [
      "is waited for while its health check fails",
      Array(30).fill({ ...starting(), health: "unhealthy" }),
      null,
      "starting",
    ],
    [
      "is waited for while its host does not answer",
      Array(30).fill({ ...starting(), state: "unknown" }),
      null,
      "starting",
    ],
  ])("%s", (_words, observations, before, expected) => {
    expect(after(observations, before)).toBe(expected);
  });
});
