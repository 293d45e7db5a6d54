import { mkdir, open, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { describe, expect, test } from "vitest";
import { resolveDirectories } from "../../../runtime/config/directories.ts";
import { claimHome, makeOwnHome } from "../../../runtime/config/index.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

describe("the deployment directory", () => {
  test("is the home directory, .cairn in the user's home, when nothing else says so", async () => {
    const cwd = await temporaryDirectory();
    const found = resolveDirectories({ env: { HOME: "/home/me" }, cwd });
    expect(found).toEqual({
      dir: "/home/me/.cairn",
      home: "/home/me/.cairn",
      file: "/home/me/.cairn/cairn.yaml",
      exists: false,
    });
  });

  test("is the current directory when it has a cairn.yaml, with a home of its own", async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, "cairn.yaml"), "");
    expect(resolveDirectories({ env: { HOME: "/home/me" }, cwd })).toMatchObject({
      dir: cwd,
      home: join(cwd, ".cairn"),
      exists: true,
    });
  });

  test("is what --dir says, whatever the current directory has", async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, "cairn.yaml"), "");
    const at = (dir: string) => resolveDirectories({ flags: { dir }, env: { HOME: "/home/me" }, cwd }).dir;
    expect(at("sub/dir")).toBe(join(cwd, "sub/dir"));
    expect(at("/srv/cairn")).toBe("/srv/cairn");
    expect(at("~/cairn")).toBe("/home/me/cairn");
  });
});

describe("the home directory", () => {
  test("is moved by SERVICE_HOME", () => {
    const home = (SERVICE_HOME: string) =>
      resolveDirectories({ env: { HOME: "/home/me", SERVICE_HOME }, cwd: "/work" }).home;
    expect(home("/data")).toBe("/data");
    expect(home("data")).toBe("/work/data");
    expect(home("~/data")).toBe("/home/me/data");
    expect(home("")).toBe("/home/me/.cairn");
  });

  test("comes from the system when HOME is not set", () => {
    expect(resolveDirectories({ env: {}, cwd: "/work", homedir: "/root" }).home).toBe("/root/.cairn");
  });

  test("that cannot be determined is an error which names the variable to set", () => {
    const resolve = () => resolveDirectories({ env: {}, cwd: "/work" });
    expect(resolve).toThrow(/SERVICE_HOME/);
    expect(resolveDirectories({ env: { SERVICE_HOME: "/data" }, cwd: "/work" }).dir).toBe("/data");
  });
});

describe("a home for each deployment directory", () => {
  const CONFIG = "version: 1\n";

  /** A user's home with `~/.cairn`, as the files say, and a deployment directory beside it that was used before. */
  async function machine(shared: Readonly<Record<string, string>>) {
    const user = await temporaryDirectory();
    const home = join(user, ".cairn");
    for (const [name, text] of Object.entries(shared)) {
      await mkdir(dirname(join(home, name)), { recursive: true });
      await writeFile(join(home, name), text);
    }
    const deployment = async (name: string, files: readonly string[] = ["cairn.yaml", ".env"]) => {
      await mkdir(join(user, name), { recursive: true });
      for (const file of files) await writeFile(join(user, name, file), file === ".env" ? "" : CONFIG);
      return join(user, name);
    };
    const find = (dir?: string, env = {}) =>
      resolveDirectories({ flags: { dir }, env: { HOME: user, ...env }, cwd: "/" }).home;
    return { home, deployment, find };
  }

  test("is in the directory, and ~/.cairn for the default one", async () => {
    const { home, deployment, find } = await machine({});
    const [one, two] = [await deployment("one"), await deployment("two")];
    expect([find(), find(one), find(two)]).toEqual([home, join(one, ".cairn"), join(two, ".cairn")]);
  });

  test.each([
    "node.key",
    // Of a deployment whose nodes run elsewhere.
    "credentials/anthropic.json",
    "capture/token",
  ])("stays what an earlier version made of ~/.cairn (%s), for the directory that used it", async (file) => {
    const { home, deployment, find } = await machine({ [file]: "" });
    const [used, fresh] = [await deployment("used"), await deployment("fresh", ["cairn.yaml"])];
    expect(find(used)).toBe(home);
    // A clone, without a .env, was not used here.
    expect(find(fresh)).toBe(join(fresh, ".cairn"));
  });

  test("belongs to the first that claims it, the default directory included", async () => {
    const { home, deployment, find } = await machine({ "store/PG_VERSION": "17" });
    const [first, second] = [await deployment("first"), await deployment("second")];
    claimHome(home, first);
    expect([find(first), find(second)]).toEqual([home, join(second, ".cairn")]);
    await writeFile(join(home, "cairn.yaml"), CONFIG);
    expect([find(), find(first)]).toEqual([join(home, ".cairn"), home]);
  });

  test("is found again when the directory that claimed ~/.cairn was renamed", async () => {
    const { home, deployment, find } = await machine({ "node.key": "" });
    const before = await deployment("before");
    claimHome(home, before);
    await rename(before, join(dirname(before), "after"));
    expect(find(join(dirname(before), "after"))).toBe(home);
  });

  test("is the default directory's own where that has a configuration", async () => {
    const { home, deployment, find } = await machine({ "node.key": "", "cairn.yaml": CONFIG });
    const other = await deployment("other");
    expect([find(), find(other)]).toEqual([home, join(other, ".cairn")]);
  });

  test("is not what a running node of an earlier version has from another directory", async () => {
    const { home, deployment, find } = await machine({ "node.key": "" });
    const [one, two] = [await deployment("one"), await deployment("two")];
    await mkdir(join(home, "run"));
    await writeFile(join(home, "run", "node.json"), JSON.stringify({ pid: process.pid, dir: one }));
    const lock = await open(join(home, "run", "node.lock"), "a+");
    expect(tryLock(lock.fd)).toBe(true);
    expect([find(one), find(two)]).toEqual([home, join(two, ".cairn")]);
    expect(() => find()).toThrow(`belongs to the deployment in ${one}`);
    // It was killed, and another process has its number by now.
    await lock.close();
    expect(find()).toBe(home);
    expect(find(two)).toBe(home);
  });

  test("that a deployment made for itself is not another one's, be it by a link or by SERVICE_HOME", async () => {
    const { deployment, find } = await machine({});
    const [owner, cloned] = [await deployment("owner"), await deployment("cloned", ["cairn.yaml"])];
    const home = find(owner);
    makeOwnHome(home, owner);
    await symlink(home, join(cloned, ".cairn"));
    expect(() => find(cloned)).toThrow(`belongs to the deployment in ${owner}`);
    expect(() => find(cloned, { SERVICE_HOME: home })).toThrow(`belongs to the deployment in ${owner}`);
    await symlink(owner, join(dirname(owner), "alias"));
    expect(find(join(dirname(owner), "alias"))).toBe(join(dirname(owner), "alias", ".cairn"));
    expect(find(owner, { SERVICE_HOME: home })).toBe(home);
  });

  test("behind a link is the first's that claims it", async () => {
    const { deployment, find } = await machine({});
    const [one, two] = [await deployment("one"), await deployment("two")];
    const disk = join(dirname(one), "disk");
    await mkdir(disk);
    for (const dir of [one, two]) await symlink(disk, join(dir, ".cairn"));
    claimHome(find(one), one);
    expect(find(one)).toBe(join(one, ".cairn"));
    expect(() => find(two)).toThrow(`belongs to the deployment in ${one}`);
  });

  test("of another deployment is refused, also where SERVICE_HOME names it", async () => {
    const { home, deployment, find } = await machine({});
    const [one, two] = [await deployment("one"), await deployment("two")];
    await mkdir(home);
    claimHome(home, one);
    expect(find(one, { SERVICE_HOME: home })).toBe(home);
    expect(() => find(two, { SERVICE_HOME: home })).toThrow(`belongs to the deployment in ${one}`);
    expect(() => claimHome(home, two)).toThrow(`belongs to the deployment in ${one}`);
    await rm(one, { recursive: true });
    claimHome(home, two);
    expect(find(two, { SERVICE_HOME: home })).toBe(home);
  });

  test("is of a directory around ~/.cairn only where no other deployment has it", async () => {
    const { home, deployment, find } = await machine({});
    const [around, other] = [await deployment("."), await deployment("other")];
    expect(find(around)).toBe(home);
    await mkdir(home);
    claimHome(home, other);
    expect(() => find(around)).toThrow(`belongs to the deployment in ${other}`);
  });
});
