import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lastingNode } from "../../../control/service-manager/lasting-node.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

async function program(folder: string, name: string, version: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  await writeFile(file, `#!/bin/sh\necho v${version}\n`);
  await chmod(file, 0o755);
  return file;
}

it("is the one that runs, where that is no cached one", async () => {
  expect(await lastingNode({ home: "/h", execPath: "/usr/bin/node", path: "" })).toBe("/usr/bin/node");
});

it("is one of PATH that is new enough, and not one that npm has put there", async () => {
  const root = await temporaryDirectory();
  const cached = await program(join(root, ".cache", "node-24.1.0", "bin"), "node", "24.1.0");
  const old = await program(join(root, "old"), "node", "20.1.0");
  const modules = await program(join(root, "node_modules", ".bin"), "node", "24.1.0");
  const right = await program(join(root, "right"), "node", "26.0.0");
  const path = [cached, modules, old, right].map((file) => join(file, "..")).join(":");
  expect(await lastingNode({ home: root, execPath: cached, path })).toBe(right);
});

it("is a copy in the home where there is no other, which outlives the cache", async () => {
  const root = await temporaryDirectory();
  const cached = await program(join(root, ".cache", "node-24.1.0"), "node", "24.1.0");
  const input = { home: join(root, "home"), execPath: cached, version: "24.1.0", path: "/nowhere" };
  const copy = await lastingNode(input);
  expect(copy).toBe(join(root, "home", "node", "node-24.1.0"));
  // The second time it is there already.
  expect(await lastingNode(input)).toBe(copy);
  await rm(join(root, ".cache"), { recursive: true });
  expect(await readFile(copy, "utf8")).toContain("24.1.0");
});
