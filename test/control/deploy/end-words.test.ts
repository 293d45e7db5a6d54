import { expect, it } from "vitest";
import { endWords, memorySetting } from "../../../control/deploy/end-words.ts";

const limit = { bytes: 20 * 1024 ** 2, setting: memorySetting("docker", "node") };

it.each([
  [
    { exitCode: 137, outOfMemory: true },
    true,
    /again and again: it needs more memory than its limit of 20Mi \(.*nodes\[\].memory or deployment.docker.memory\)$/,
  ],
  [
    { exitCode: 137, outOfMemory: false },
    true,
    /\(exit code 137: killed, as what needs more memory than its limit of 20Mi is, /,
  ],
  [{ exitCode: 3, outOfMemory: false }, true, /^it ends again and again \(exit code 3\)$/],
  [{ exitCode: 3, outOfMemory: false }, false, /^it ended with exit code 3$/],
  [{ exitCode: null, outOfMemory: false }, false, /exit code unknown$/],
])("%j is said", (end, isRestarted, words) => {
  expect(endWords(end, isRestarted, limit)).toMatch(words);
});

it("PostgreSQL has a limit of its own", () => {
  expect(memorySetting("kubernetes", "database")).toBe(
    "deployment.datahub.memory or deployment.kubernetes.limits.memory",
  );
});
