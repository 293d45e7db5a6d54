import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { INSTALL, isSameTree } from "../../scripts/lib/dependencies.js";
import { ROOT } from "../../scripts/lib/paths.js";
import { temporaryDirectory } from "../support/deployment.ts";

const LOCKED = {
  "": { version: "0.1.0" },
  "node_modules/a": { version: "1.0.0" },
  "node_modules/a-darwin": { version: "1.0.0", optional: true },
};

it.each([
  ["all of them", { "node_modules/a": { version: "1.0.0" } }, true],
  ["another version", { "node_modules/a": { version: "1.0.1" } }, false],
  ["one too few", {}, false],
  ["one too many", { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0" } }, false],
  [
    "an optional one of another version",
    { "node_modules/a": { version: "1.0.0" }, "node_modules/a-darwin": { version: "2.0.0" } },
    false,
  ],
])("sees %s in node_modules", (_name, present, same) => {
  expect(isSameTree(LOCKED, present)).toBe(same);
});

it("installs without running what packages would run, and knows every package that would run something", async () => {
  const root = await temporaryDirectory();
  const evil = join(root, "evil");
  const project = join(root, "project");
  for (const folder of [evil, project]) await mkdir(folder);
  const script = `node -e "require('node:fs').writeFileSync(process.env.INIT_CWD + '/ran', '')"`;
  const write = (folder: string, manifest: object) =>
    writeFile(join(folder, "package.json"), JSON.stringify({ version: "1.0.0", ...manifest }));
  await write(evil, { name: "evil", scripts: { postinstall: script } });
  await write(project, { name: "project", dependencies: { evil: "file:../evil" }, scripts: { postinstall: script } });
  const npm = (...args: readonly string[]) => execa("npm", [...args], { cwd: project });
  await npm("install", "--package-lock-only", "--ignore-scripts", "--offline");
  await npm(...INSTALL, "--offline");
  expect(await readdir(project)).toEqual(["node_modules", "package-lock.json", "package.json"]);
  await npm(...INSTALL.filter((argument) => argument !== "--ignore-scripts"), "--offline");
  expect(await readdir(project)).toContain("ran");

  // A package that is new here may need its script: then it is to be named and run on purpose.
  const { packages } = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8"));
  const scripted = Object.keys(packages).filter((path) => packages[path].hasInstallScript === true);
  expect(scripted.map((path) => path.replace(/^.*node_modules\//, ""))).toEqual([
    "@pulumi/command",
    "@pulumi/kubernetes",
    "protobufjs",
  ]);
});
