/** With a real Node 18, 20 and 22 on PATH: a source tree fetches the Node that it needs, and an installation says how to get one. */

import { cp, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../support/deployment.ts";

const TREE = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGE = `node-${process.platform}-${process.arch}`;

/** Path of that Node's folder of programs. */
async function olderNode(version: string): Promise<string> {
  const prefix = await temporaryDirectory();
  const options = ["--prefix", prefix, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  await execa("npm", ["install", ...options, `${PACKAGE}@${version}`], { cwd: prefix });
  return join(prefix, "node_modules", PACKAGE, "bin");
}

describe.each(["18.20.8", "20.20.2", "22.23.3"])("Node %s on PATH", (version) => {
  it("runs commands of a source tree with a newer one, and says in an installation how to get that", async () => {
    const bin = await olderNode(version);
    const node = join(bin, "node");
    const env = { PATH: [bin, ...(process.env["PATH"] ?? "").split(delimiter)].join(delimiter) };

    const tree = await execa(node, [join(TREE, "scripts", "run.js"), "cairn", "--version"], { env });
    expect(tree.stdout).toMatch(/^cairn \S+ \(node 2[4-9]\./);

    const installed = join(await temporaryDirectory(), "cairn-agents");
    await mkdir(join(installed, "bin"), { recursive: true });
    await cp(join(TREE, "bin", "cairn.js"), join(installed, "bin", "cairn.js"));
    await writeFile(join(installed, "package.json"), JSON.stringify({ version: "1.0.0", type: "module" }));
    const refused = await execa(node, [join(installed, "bin", "cairn.js"), "chat"], { env, reject: false });
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    const [what, how, ...rest] = refused.stderr.split("\n");
    expect(what).toBe(`cairn needs Node 24 or newer, and this is ${version} (${join(dirname(node), "node")}).`);
    expect(how).toContain("`nvm install 24`");
    expect(rest).toEqual([]);
  }, 300_000);
});
