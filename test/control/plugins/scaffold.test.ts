import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SCAFFOLDED_KINDS, scaffoldPlugin } from "../../../control/plugins/scaffold.ts";
import { pluginsIn } from "../../../runtime/files/plugin-package.ts";
import { ROOT } from "../../../scripts/lib/paths.js";
import { temporaryDirectory } from "../../support/deployment.ts";

it.each(SCAFFOLDED_KINDS)("writes a %s with a manifest, once, and never over something", async (kind) => {
  const directory = join(await temporaryDirectory(), "plugins");
  const { path, files } = await scaffoldPlugin(directory, { name: "sky", kind, cairn: "1.2.3" });
  expect((await readdir(path)).sort()).toEqual([...files].sort());
  expect(await pluginsIn(directory)).toMatchObject([{ id: "sky", problem: null, manifest: { cairn: { kind } } }]);
  for (const file of files) expect(await readFile(join(path, file), "utf8")).not.toMatch(/NAME|KIND|CAIRN|TYPES/);
  await writeFile(join(path, "index.ts"), "mine");
  await expect(scaffoldPlugin(directory, { name: "sky", kind, cairn: "1.2.3" })).rejects.toMatchObject({
    code: "RUNTIME_CONFLICT",
  });
  expect(await readFile(join(path, "index.ts"), "utf8")).toBe("mine");
});

it("pins what its author needs to what Cairn itself is built with", async () => {
  const { path } = await scaffoldPlugin(await temporaryDirectory(), { name: "sky", kind: "tool", cairn: "1.2.3" });
  const manifest = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const own = Object.fromEntries(["@types/node", "typescript"].map((name) => [name, devDependencies[name]]));
  expect(manifest.devDependencies).toEqual({ ...own, "cairn-agents": "1.2.3" });
});

it("refuses names that no plugin may have, and a directory that cannot be made", async () => {
  const directory = await temporaryDirectory();
  for (const name of ["../x", "Sky", "", "a/b", "a__b", "shell", "telegram", "memory_search"]) {
    await expect(scaffoldPlugin(directory, { name, kind: "tool", cairn: "1.2.3" })).rejects.toMatchObject({
      code: "RUNTIME_INVALID_REQUEST",
    });
  }
  await writeFile(join(directory, "file"), "");
  const inFile = scaffoldPlugin(join(directory, "file", "x"), { name: "sky", kind: "tool", cairn: "1.2.3" });
  await expect(inFile).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
  expect(await readdir(directory)).toEqual(["file"]);
});
