/** What a rollout would go to, as it is said before anything is built. */

import { describe, expect, it, vi } from "vitest";
import { plannedRelease } from "../../../control/update/planned-release.ts";
import { lacks } from "../../lanes/tools.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { createProgram } from "../../support/update/program.ts";

const { signal } = new AbortController();

describe.skipIf(lacks("git"))("the release that a rollout would go to", () => {
  it("is the one that an update would choose, and one that is not there is refused", async () => {
    const { root, path, release } = await createProgram();
    vi.stubEnv("PATH", path);
    await release("1.1.0");
    expect(await plannedRelease({ root, version: undefined, signal })).toBe("1.1.0");
    expect(await plannedRelease({ root, version: "1.0.0", signal })).toBe("1.0.0");
    await expect(plannedRelease({ root, version: "9.9.9", signal })).rejects.toThrow("There is no release 9.9.9.");
  });

  it("is not known where the program is no source tree, which has no release to name", async () => {
    const root = await temporaryDirectory();
    expect(await plannedRelease({ root, version: undefined, signal })).toBeNull();
    await expect(plannedRelease({ root, version: "1.0.0", signal })).rejects.toThrow(/no Git checkout/);
  });
});
