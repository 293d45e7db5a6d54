/** What commands that were killed have left of files that they wrote. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { removeUnfinished, writeWhole } from "../../../control/service/byte-files.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

it("is removed where its process is gone, also where this one has its number now", async () => {
  const around = await temporaryDirectory();
  const kept = `.file.${process.ppid}.partial`;
  for (const name of [kept, `.file.${process.pid}.partial`, ".file.4194305.partial"]) {
    await writeFile(join(around, name), "");
  }
  await removeUnfinished(join(around, "file"), () => false);
  expect(await readdir(around)).toEqual([kept]);
});

it("does not keep a process with the same number from writing the file", async () => {
  const around = await temporaryDirectory();
  await writeFile(join(around, `.file.${process.pid}.partial`), "half of it");
  async function* bytes() {
    yield Buffer.from("all of it");
  }
  await writeWhole(join(around, "file"), bytes(), { force: false });
  expect(await readdir(around)).toEqual(["file"]);
  expect(await readFile(join(around, "file"), "utf8")).toBe("all of it");
});
