import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { resolveDirectories } from "../../../runtime/config/directories.ts";
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

  test("is the current directory when it has a cairn.yaml; home stays home", async () => {
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, "cairn.yaml"), "");
    expect(resolveDirectories({ env: { HOME: "/home/me" }, cwd })).toMatchObject({
      dir: cwd,
      home: "/home/me/.cairn",
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

  test("that nobody knows is an error which names the variable to set", () => {
    const resolve = () => resolveDirectories({ env: {}, cwd: "/work" });
    expect(resolve).toThrow(/SERVICE_HOME/);
    expect(resolveDirectories({ env: { SERVICE_HOME: "/data" }, cwd: "/work" }).dir).toBe("/data");
  });
});
