import { existsSync } from "node:fs";
import { appendFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { fixture } from "../../support/update/fixture.ts";
import type { Program } from "../../support/update/program.ts";

// Each test runs Git and several processes, which take their time on a busy machine.

describe("update of a source tree", () => {
  it("brings the newest release, restarts the node and moves the branch; then there is nothing to do", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    const commit = await at.release("1.2.0");
    await at.release("2.0.0-rc.1");
    await at.start();
    const before = await at.node();
    expect(await at.update()).toMatchObject({ outcome: "updated", from: "1.0.0", to: "1.2.0", restarted: true });
    const after = await at.node();
    expect(after?.version).toBe("1.2.0");
    expect(after?.pid).not.toBe(before?.pid);
    expect(await at.git("rev-parse", "HEAD")).toBe(commit);
    expect(await at.git("symbolic-ref", "--short", "HEAD")).toBe("main");
    expect(await at.git("status", "--porcelain")).toBe("");
    expect(existsSync(join(at.home, "update.json"))).toBe(false);
    expect(await at.update()).toMatchObject({ outcome: "unchanged", to: "1.2.0" });

    // The second update starts from a build of the first, and throws away none that still serves.
    await at.release("1.3.0");
    expect(await at.update()).toMatchObject({ outcome: "updated", from: "1.2.0", to: "1.3.0" });
    expect((await at.node())?.version).toBe("1.3.0");
  });

  it("goes to a named release, older or not finished, and leaves a published branch for it", async () => {
    const at = await fixture();
    const old = await at.git("rev-parse", "HEAD");
    await at.release("1.1.0");
    await at.release("2.0.0-rc.1");
    expect(await at.update({ version: "2.0.0-rc.1" })).toMatchObject({ outcome: "pending", to: "2.0.0-rc.1" });
    expect(await at.update({ version: "v1.0.0" })).toMatchObject({ outcome: "pending", to: "1.0.0" });
    expect(await at.git("rev-parse", "HEAD")).toBe(old);
    expect(await at.serving()).toBe("1.0.0");
    expect(JSON.stringify(await at.update({ version: "9.9.9" }))).toContain("There is no release 9.9.9");
  });

  it("leaves the node alone with --no-restart: the next start runs the new build", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.start();
    expect(await at.update({ restart: false })).toMatchObject({ outcome: "pending", restarted: false });
    expect((await at.node())?.version).toBe("1.0.0");
    expect(await at.serving()).toBe("1.1.0");
    expect(String((await at.update())["next"])).toContain("still runs 1.0.0");
  });
});

describe("update refuses, and changes nothing", () => {
  it.each([
    [
      "a changed file",
      "local changes: package.json",
      async ({ root }: Program) => appendFile(join(root, "package.json"), "\n"),
    ],
    [
      "a file of the user's where the release has one",
      "Files of your own",
      async ({ root, origin, inOrigin, release }: Program) => {
        await writeFile(join(origin, "notes.md"), "theirs");
        await inOrigin("add", "-A");
        await release("1.2.0");
        await writeFile(join(root, "notes.md"), "mine");
      },
    ],
    [
      "a branch with commits of its own",
      "has commits of its own",
      async ({ git }: Program) => void (await git("commit", "--quiet", "--allow-empty", "-m", "mine")),
    ],
    [
      "a commit that is no release",
      "on no branch",
      async ({ git }: Program) => {
        await git("checkout", "--quiet", "--detach");
        await git("commit", "--quiet", "--allow-empty", "-m", "somewhere");
      },
    ],
    ["no Git", "no Git checkout", async ({ root }: Program) => rm(join(root, ".git"), { recursive: true })],
    ["no remote", "no remote", async ({ git }: Program) => void (await git("remote", "remove", "origin"))],
  ])("for %s", async (_name, words, spoil) => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.start();
    const before = await at.node();
    await spoil(at);
    const result = await at.update();
    expect(String(result["error"])).toContain(words);
    expect(result["hint"]).toHaveProperty("hint");
    expect(await at.node()).toEqual(before);
    expect(existsSync(join(at.home, "update.json"))).toBe(false);
  });

  it.each(["ci", "build", "incomplete"] as const)(
    "for a release whose %s fails: the node never stops",
    async (fault) => {
      const at = await fixture();
      await at.release("1.1.0", { fault });
      await at.start();
      const before = await at.node();
      const result = await at.update();
      expect(String(result["error"])).toMatch(/registry is unavailable|does not compile|not complete/);
      expect(await at.node()).toEqual(before);
      expect(await at.git("status", "--porcelain")).toBe("");
      expect(await at.git("worktree", "list", "--porcelain")).not.toContain(".cache");
    },
  );
});

describe("update goes back", () => {
  it.each(["start", "version", "unready"] as const)("from a release that fails at the gate: %s", async (fault) => {
    const at = await fixture();
    await at.release("1.1.0", { fault });
    await at.start();
    const head = await at.git("rev-parse", "HEAD");
    const result = await at.update();
    expect(result).toMatchObject({ outcome: "rolled_back", from: "1.0.0", to: "1.1.0", restarted: true });
    expect(String(result["reason"])).toMatch(/cannot start|0\.0\.1|not now|no messages/);
    expect((await at.node())?.version).toBe("1.0.0");
    expect(await at.serving()).toBe("1.0.0");
    expect(await at.git("rev-parse", "HEAD")).toBe(head);
    // A later release is taken as if nothing had been.
    await at.release("1.2.0");
    expect(await at.update()).toMatchObject({ outcome: "updated", to: "1.2.0" });
  });
});

describe("update that is killed", () => {
  it.each(["stage", "packages", "build", "switch", "restart", "gate", "tree"] as const)(
    "at %s leaves a whole program, and the next one finishes it",
    async (kill) => {
      const at = await fixture();
      const commit = await at.release("1.1.0");
      await at.start();
      expect(await at.update({ kill })).toEqual({ killed: true });
      const whole = await at.serving();
      expect(["1.0.0", "1.1.0"]).toContain(whole);
      expect(existsSync(join(at.root, "dist", "runtime", "main.js"))).toBe(true);
      expect(await at.update()).toMatchObject({ outcome: "updated", to: "1.1.0" });
      expect((await at.node())?.version).toBe("1.1.0");
      expect(await at.git("rev-parse", "HEAD")).toBe(commit);
      expect(existsSync(join(at.home, "update.json"))).toBe(false);
    },
  );

  it.each(["back", "restart-former", "gate-former"] as const)("at %s goes on going back", async (kill) => {
    const at = await fixture();
    await at.release("1.1.0", { fault: "version" });
    await at.start();
    expect(await at.update({ kill })).toEqual({ killed: true });
    expect(await at.update()).toMatchObject({ outcome: "rolled_back", from: "1.0.0" });
    expect((await at.node())?.version).toBe("1.0.0");
    expect(await at.serving()).toBe("1.0.0");
  });

  it("between its two renames is healed by the next one", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.update({ kill: "switch" });
    await execa("mv", [join(at.root, "dist"), join(at.root, "dist.former")]);
    expect(await at.update()).toMatchObject({ outcome: "pending", to: "1.1.0" });
    expect(await at.serving()).toBe("1.1.0");
  });

  it("asks for an operator when the tree was moved by hand since", async () => {
    const at = await fixture();
    await at.release("1.1.0");
    await at.start();
    await at.update({ kill: "gate" });
    await at.git("commit", "--quiet", "--allow-empty", "-m", "by hand");
    expect(await at.update()).toMatchObject({ outcome: "operator", reason: expect.stringContaining("by hand") });
  });
});
