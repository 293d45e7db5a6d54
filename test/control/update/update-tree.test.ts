import { existsSync } from "node:fs";
import { appendFile, mkdir, open, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { fixture } from "../../support/update/fixture.ts";

// Each test runs Git and several processes, which take their time on a busy machine.

describe.skipIf(lacks("git"))("update of a source tree", () => {
  it("brings the newest release, restarts the node and moves the branch", async () => {
    const at = await fixture();
    const commit = await at.release("1.2.0");
    await at.start();
    const before = await at.node();
    expect(await at.update()).toMatchObject({ outcome: "updated", from: "1.0.0", to: "1.2.0", restarted: true });
    const after = await at.node();
    expect(after?.version).toBe("1.2.0");
    expect(after?.pid).not.toBe(before?.pid);
    expect(await at.git("rev-parse", "HEAD")).toBe(commit);
    expect(await at.git("status", "--porcelain")).toBe("");
    expect(existsSync(join(at.home, "update.json"))).toBe(false);
  });

  it("refuses local changes, and stops nothing", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await appendFile(join(at.root, "package.json"), "\n");
    const result = await at.update();
    expect(String(result["error"])).toContain("local changes: package.json");
    expect(existsSync(join(at.home, "update.json"))).toBe(false);
    expect(await at.serving()).toBe("1.0.0");
  });

  it("waits for no other deployment that updates the same tree, and changes nothing", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await mkdir(join(at.root, ".cache"), { recursive: true });
    const lock = await open(join(at.root, ".cache", "update.lock"), "a+");
    expect(tryLock(lock.fd)).toBe(true);
    expect(String((await at.update())["error"])).toContain("Another update is under way");
    expect(await at.serving()).toBe("1.0.0");
    await lock.close();
    expect(await at.update()).toMatchObject({ to: "1.1.0" });
  });

  it("goes back from a release that fails at the gate", async () => {
    const at = await fixture();
    await at.release("1.1.0", { fault: "version" });
    await at.start();
    const head = await at.git("rev-parse", "HEAD");
    expect(await at.update()).toMatchObject({ outcome: "rolled_back", from: "1.0.0", to: "1.1.0" });
    expect((await at.node())?.version).toBe("1.0.0");
    expect(await at.git("rev-parse", "HEAD")).toBe(head);
  });

  it("goes nowhere where a node that shares the database could not serve beside it, and builds nothing", async () => {
    const at = await fixture();
    await at.release("1.2.0");
    await at.start();
    const other = { id: "b", name: "beta", version: "1.0.0", schema: 22, address: null, certificate_sha256: null };
    const rest = { next_certificate_sha256: null, agents: [], hosts: [], self: false };
    const member = (status: string) =>
      writeFile(join(at.home, "fleet.json"), JSON.stringify([{ ...other, ...rest, status }]));
    await member("online");
    expect(String((await at.update())["error"])).toContain(
      "The node beta runs Cairn 1.0.0, and Cairn 1.2.0 serves beside 1.1.x to 1.3.x only.",
    );
    expect(existsSync(join(at.home, "update.json"))).toBe(false);
    expect(await at.serving()).toBe("1.0.0");
    await member("stopped");
    expect(await at.update()).toMatchObject({ outcome: "updated", to: "1.2.0" });
  });

  it("that was killed with the new build in place is finished by the next one", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.start();
    expect(await at.update({ kill: "restart" })).toEqual({ killed: true });
    expect(await at.serving()).toBe("1.1.0");
    // What may be started meanwhile is not built again.
    const mark = join(await realpath(join(at.root, "dist")), "mark");
    await writeFile(mark, "");
    expect(await at.update()).toMatchObject({ outcome: "updated", to: "1.1.0" });
    expect((await at.node())?.version).toBe("1.1.0");
    expect(existsSync(mark)).toBe(true);
    expect(existsSync(join(at.root, "dist.former"))).toBe(false);
  });
});
