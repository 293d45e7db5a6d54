import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { UpdateResult } from "../../../control/update/result.ts";
import { updateFromRelease } from "../../../control/update/update-release.ts";
import { lacks } from "../../lanes/tools.ts";
import { createProgram } from "../../support/update/program.ts";

// Each test runs Git and several processes, which take their time on a busy machine.

async function fixture() {
  const program = await createProgram();
  vi.stubEnv("PATH", program.path);
  const deployed: string[] = [];
  const versionOf = async (folder: string): Promise<string> =>
    JSON.parse(await readFile(join(folder, "package.json"), "utf8")).version;
  return {
    ...program,
    deployed,
    update: (outcome: UpdateResult["outcome"] | Error, version?: string) =>
      updateFromRelease({
        root: program.root,
        version,
        signal: new AbortController().signal,
        report: () => undefined,
        deploy: async (folder) => {
          deployed.push(await versionOf(folder));
          if (outcome instanceof Error) throw outcome;
          const said = { from: "?", to: "?", restarted: true, reason: null, next: null } as const;
          return { schema: 1, outcome, target: "docker", ...said };
        },
      }),
    serving: async () => versionOf(dirname(await realpath(join(program.root, "dist")))),
  };
}

describe.skipIf(lacks("git"))("the update of a deployed node from a source tree", () => {
  it("deploys the newest release, and the tree follows", async () => {
    const at = await fixture();
    const commit = await at.release("1.1.0");
    expect(await at.update("updated")).toMatchObject({ outcome: "updated" });
    expect(at.deployed).toEqual(["1.1.0"]);
    expect(await at.serving()).toBe("1.1.0");
    expect(await at.git("rev-parse", "HEAD")).toBe(commit);
    // The program is right by now; the node may still need the image.
    await at.update("unchanged");
    expect(at.deployed).toEqual(["1.1.0", "1.1.0"]);
  });

  it.each(["rolled_back", "operator", new Error("locked")] as const)(
    "leaves the tree where it was: %s",
    async (outcome) => {
      const at = await fixture();
      const head = await at.git("rev-parse", "HEAD");
      await at.release("1.1.0");
      await at.update(outcome).catch((error: unknown) => expect(error).toBe(outcome));
      expect(at.deployed).toEqual(["1.1.0"]);
      expect(await at.serving()).toBe("1.0.0");
      expect(await at.git("rev-parse", "HEAD")).toBe(head);
      expect(await at.git("worktree", "list", "--porcelain")).not.toContain(".cache");
    },
  );

  it("deploys nothing when the release cannot be built", async () => {
    const at = await fixture();
    await at.release("1.1.0", { fault: "build" });
    await expect(at.update("updated")).rejects.toMatchObject({ code: "INFRA_BUILD_FAILED" });
    expect(at.deployed).toEqual([]);
  });
});
