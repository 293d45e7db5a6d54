import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replaceConfiguration } from "../../../control/configuration/replace.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

async function configuration() {
  const dir = await temporaryDirectory();
  const file = join(dir, "cairn.yaml");
  await writeFile(file, "before\n");
  return { dir, file, read: () => readFile(file, "utf8") };
}

describe("the step in which cairn.yaml changes", () => {
  it("does not overwrite what an editor saved in its last moment", async () => {
    const { file, read, dir } = await configuration();
    const onStaged = () => writeFile(file, "theirs\n");
    const replaced = replaceConfiguration({ file, expected: "before\n", text: "after\n", onStaged });
    await expect(replaced).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    expect(await read()).toBe("theirs\n");
    expect(await readdir(dir)).toEqual(["cairn.yaml"]);
  });

  it("tells a full disk as what it is, and leaves nothing behind", async () => {
    const { file, read, dir } = await configuration();
    const onStaged = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
    const replaced = replaceConfiguration({ file, expected: "before\n", text: "after\n", onStaged });
    await expect(replaced).rejects.toMatchObject({
      code: "CONFIG_UNWRITABLE",
      message: expect.stringContaining("ENOSPC: the disk is full"),
      details: { hint: expect.stringContaining("Make room") },
    });
    expect(await read()).toBe("before\n");
    expect(await readdir(dir)).toEqual(["cairn.yaml"]);
  });

  it("works where no lock can be had, and where a killed command has left one", async () => {
    const { file, read, dir } = await configuration();
    await writeFile(`${file}.lock`, "");
    await replaceConfiguration({ file, expected: "before\n", text: "between\n" });
    expect(await readdir(dir)).toEqual(["cairn.yaml"]);
    await mkdir(`${file}.lock`);
    await replaceConfiguration({ file, expected: "between\n", text: "after\n" });
    expect(await read()).toBe("after\n");
  });
});
