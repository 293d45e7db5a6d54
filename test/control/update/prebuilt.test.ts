import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { pack } from "../../support/update/archive.ts";
import { fixture } from "../../support/update/fixture.ts";

// Each test runs Git and several processes, which take their time on a busy machine.

describe.skipIf(lacks("git"))("update --prebuilt of a program of this machine", () => {
  it("runs the archive's build, restarts the node and leaves the source tree alone", async () => {
    const at = await fixture();
    const { archive } = await pack("1.3.0");
    await at.start();
    const head = await at.git("rev-parse", "HEAD");
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({
      outcome: "updated",
      target: "manual",
      from: "1.0.0",
      to: "1.3.0",
      restarted: true,
    });
    expect((await at.node())?.version).toBe("1.3.0");
    expect(await at.git("rev-parse", "HEAD")).toBe(head);
    expect(await at.git("status", "--porcelain")).toBe("");
    expect(await readdir(join(at.root, ".cache", "builds"))).toEqual([expect.stringMatching(/^1\.3\.0-[0-9a-f]{12}$/)]);
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "unchanged", to: "1.3.0" });
  });

  it("that was killed at its restart is finished by the next one", async () => {
    const at = await fixture();
    const { archive } = await pack("1.3.0");
    await at.start();
    expect(await at.update({ prebuilt: { archive }, kill: "restart" })).toEqual({ killed: true });
    // A tree that was moved by hand since has nothing to do with it.
    await at.git("commit", "--quiet", "--allow-empty", "-m", "mine");
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "updated", to: "1.3.0" });
    expect((await at.node())?.version).toBe("1.3.0");
    expect(await readdir(join(at.root, ".cache", "builds"))).toHaveLength(1);
  });
});
