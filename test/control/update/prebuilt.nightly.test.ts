import { readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pack } from "../../support/update/archive.ts";
import { fixture } from "../../support/update/fixture.ts";

// Each test runs Git and several processes, which take their time on a busy machine.

describe("update --prebuilt of a program of this machine", () => {
  it("needs no Git", async () => {
    const at = await fixture();
    const { archive } = await pack("1.3.0");
    await rm(join(at.root, ".git"), { recursive: true });
    await at.start();
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "updated", to: "1.3.0" });
    expect(await at.serving()).toBe("1.3.0");
  });

  it("gives way to a release that is newer", async () => {
    const at = await fixture();
    const { archive } = await pack("1.3.0");
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "pending" });
    await at.release("1.2.0");
    expect(await at.update()).toMatchObject({ outcome: "unchanged", to: "1.3.0" });
    await at.release("1.4.0");
    expect(await at.update()).toMatchObject({ outcome: "pending", from: "1.3.0", to: "1.4.0" });
  });

  it("goes back from a build that fails at the gate", async () => {
    const at = await fixture();
    const { archive } = await pack("1.3.0", { fault: "version" });
    await at.start();
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "rolled_back", from: "1.0.0" });
    expect((await at.node())?.version).toBe("1.0.0");
    expect(await at.serving()).toBe("1.0.0");
  });

  it.each(["stage", "build", "switch", "gate"])("is finished when it was killed at %s", async (kill) => {
    const at = await fixture();
    const { archive } = await pack("1.3.0");
    await at.start();
    expect(await at.update({ prebuilt: { archive }, kill })).toEqual({ killed: true });
    // A tree that was moved by hand since has nothing to do with it.
    await at.git("commit", "--quiet", "--allow-empty", "-m", "mine");
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({ outcome: "updated", to: "1.3.0" });
    expect((await at.node())?.version).toBe("1.3.0");
    expect(await readdir(join(at.root, ".cache", "builds"))).toHaveLength(1);
    expect(await realpath(join(at.root, "dist"))).toContain("1.3.0-");
  });

  it("goes on to what is asked for when the one that was cut off was another", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.start();
    const { archive } = await pack("1.3.0");
    expect(await at.update({ kill: "gate" })).toEqual({ killed: true });
    expect(await at.update({ prebuilt: { archive } })).toMatchObject({
      outcome: "updated",
      from: "1.1.0",
      to: "1.3.0",
    });
    await at.release("1.2.0");
    expect(await at.update({ version: "1.2.0", kill: "gate" })).toEqual({ killed: true });
    expect(await at.update({ version: "1.1.0" })).toMatchObject({ outcome: "updated", from: "1.2.0", to: "1.1.0" });
  });
});
