import { execFile } from "node:child_process";
import { cp, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../support/deployment.ts";

const BIN = fileURLToPath(new URL("../../bin/cairn.js", import.meta.url));

/** A tree whose program says which build it is, and from where. */
async function tree() {
  const root = join(await temporaryDirectory(), "tree");
  await mkdir(join(root, "bin"), { recursive: true });
  await cp(BIN, join(root, "bin", "cairn.js"));
  const build = async (folder: string, version: string): Promise<void> => {
    const control = join(folder, "dist", "control");
    await mkdir(control, { recursive: true });
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "cairn", version, type: "module" }));
    await writeFile(
      join(control, "main.js"),
      `export const main = (argv, root) => console.log(JSON.stringify(["${version}", root]));`,
    );
  };
  await build(root, "1.0.0");
  const run = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: join(root, "cache") };
    return (await promisify(execFile)(process.execPath, [join(root, "bin", "cairn.js"), ...args], { env })).stdout;
  };
  return { root, build, run };
}

describe("bin/cairn.js", () => {
  it.each([
    [true, "`npm run -s cairn -- chat` fetches one for itself."],
    [false, "`nvm install 24`"],
  ])("says on an older Node how to get a newer one (source tree: %s)", async (isTree, words) => {
    const { root } = await tree();
    if (isTree) {
      await mkdir(join(root, "scripts"));
      await writeFile(join(root, "scripts", "run.js"), "");
    }
    const older = 'Object.defineProperty(process.versions, "node", { value: "20.1.0" })';
    const argv = [
      "--import",
      `data:text/javascript,${encodeURIComponent(older)}`,
      join(root, "bin", "cairn.js"),
      "chat",
    ];
    await expect(promisify(execFile)(process.execPath, argv)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^cairn needs Node 24 or newer, and this is 20\.1\.0 \(\//),
    });
    await expect(promisify(execFile)(process.execPath, argv)).rejects.toMatchObject({
      stderr: expect.stringContaining(words),
    });
  });

  it("runs the build that dist leads to, with that build's own files", async () => {
    const { root, build, run } = await tree();
    expect(JSON.parse(await run("status"))).toEqual(["1.0.0", root]);
    const next = join(root, ".cache", "builds", "1.1.0-abc");
    await build(next, "1.1.0");
    await rename(join(root, "dist"), join(root, "dist.former"));
    await symlink(join(".cache", "builds", "1.1.0-abc", "dist"), join(root, "dist"));
    expect(JSON.parse(await run("status"))).toEqual(["1.1.0", next]);
    expect(await run("version")).toMatch(/^cairn 1\.1\.0 /);
  });

  it("puts back what an update had moved aside when it was killed", async () => {
    const { root, run } = await tree();
    await rename(join(root, "dist"), join(root, "dist.former"));
    expect(JSON.parse(await run("start"))).toEqual(["1.0.0", root]);
    expect(JSON.parse(await run("status"))).toEqual(["1.0.0", root]);
  });
});
