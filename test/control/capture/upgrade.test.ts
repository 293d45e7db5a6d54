/** The installed hook through updates: its program stays where it is, and starts what `dist` leads to. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { capturePlaces } from "../../../control/capture/places.ts";

const PROGRAM = fileURLToPath(new URL("../../../bin/cairn-capture.js", import.meta.url));

/** A source tree as an update leaves it: `dist` is a link into a build below `.cache/builds`. */
async function tree() {
  const root = await mkdtemp(join(tmpdir(), "cairn-tree-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await writeFile(join(root, "package.json"), '{"type":"module"}');
  await mkdir(join(root, "bin"));
  await cp(PROGRAM, join(root, "bin", "cairn-capture.js"));
  const build = async (name: string) => {
    const hook = join(root, ".cache", "builds", name, "dist", "runtime", "client", "hook");
    await mkdir(hook, { recursive: true });
    const seen = JSON.stringify(join(root, "seen"));
    await writeFile(
      join(hook, "main.js"),
      `import { writeFileSync } from "node:fs"; export async function main(argv) { writeFileSync(${seen}, "${name} " + argv.join(" ")); }`,
    );
    return join(root, ".cache", "builds", name);
  };
  return { root, build, seen: () => readFile(join(root, "seen"), "utf8") };
}

test("is installed where it stays, also when a build of an update runs the command, and starts the newest build", async () => {
  const { root, build, seen } = await tree();
  const old = await build("0.1.0-aaaaaaaaaaaa");
  const { script } = capturePlaces(join(root, "home"), old);
  expect(script).toBe(join(root, "bin", "cairn-capture.js"));
  const run = () => promisify(execFile)(process.execPath, [script, "codex", "/home"]);
  await symlink(join(old, "dist"), join(root, "dist"));
  await run();
  expect(await seen()).toBe("0.1.0-aaaaaaaaaaaa codex /home");
  await symlink(join(await build("0.2.0-bbbbbbbbbbbb"), "dist"), join(root, "dist.next"));
  await rename(join(root, "dist.next"), join(root, "dist"));
  await run();
  expect(await seen()).toBe("0.2.0-bbbbbbbbbbbb codex /home");
  // Between the two renames of an update, and after a build that broke: nothing is said, and the exit code is 0.
  await rename(join(root, "dist"), join(root, "dist.former"));
  await run();
  await rm(join(root, "dist.former"));
  expect(await run()).toEqual({ stdout: "", stderr: "" });
});
