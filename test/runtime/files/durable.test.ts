import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { copyName, createDurably, keepCopy, writeDurably } from "../../../runtime/files/durable.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("a file that is written whole", () => {
  test("keeps the mode of the one before, or gets the mode that is asked for", async () => {
    const path = join(await temporaryDirectory(), "a");
    await writeFile(path, "old");
    await chmod(path, 0o640);
    await writeDurably(path, "new");
    expect([await readFile(path, "utf8"), await modeOf(path)]).toEqual(["new", 0o640]);
    await writeDurably(path, "private", { mode: 0o600 });
    expect(await modeOf(path)).toBe(0o600);
  });

  test("replaces the file behind a link", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "real"), "old");
    await symlink("real", join(dir, "link"));
    await writeDurably(join(dir, "link"), "new");
    expect((await lstat(join(dir, "link"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(dir, "real"), "utf8")).toBe("new");
  });

  test("leaves nothing behind when the name cannot be given", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "taken", "full"), { recursive: true });
    await expect(writeDurably(join(dir, "taken"), "new")).rejects.toThrow();
    expect(await readdir(dir)).toEqual(["taken"]);
  });
});

test("a new file is never written over another one, and of many writers one is first", async () => {
  const dir = await temporaryDirectory();
  const path = join(dir, "a");
  const texts = ["1", "2", "3", "4", "5"];
  const first = await Promise.all(texts.map((text) => createDurably(path, text, 0o600)));
  expect(first.filter(Boolean)).toHaveLength(1);
  expect(await readFile(path, "utf8")).toBe(texts[first.indexOf(true)]);
  expect([await readdir(dir), await modeOf(path)]).toEqual([["a"], 0o600]);
});

test("copies take the first name that is free, and the mode of the file", async () => {
  const path = join(await temporaryDirectory(), "a");
  await writeFile(path, "text", { mode: 0o600 });
  expect([await keepCopy(path), await keepCopy(path)]).toEqual([`${path}.bak`, `${path}.bak-2`]);
  expect([copyName(path, 3), await modeOf(`${path}.bak-2`)]).toEqual([`${path}.bak-3`, 0o600]);
});
