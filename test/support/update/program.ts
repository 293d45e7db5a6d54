/**
 * A tiny program in a Git repository of its own, with releases: what `update` sees of a source tree. Its `npm` is played by a
 * script on PATH that installs nothing and compiles by copying; its node holds the home and answers as a real one does.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { temporaryDirectory } from "../deployment.ts";

const NODE_PROGRAM = fileURLToPath(new URL("./small-node.mjs", import.meta.url));

export interface Program {
  /** The remote, in which releases are made. */
  readonly origin: string;
  /** The operator's clone. */
  readonly root: string;
  /** PATH with the played npm in front. */
  readonly path: string;
  git(...args: string[]): Promise<string>;
  inOrigin(...args: string[]): Promise<string>;
  /** Commits a version in the remote and tags it; `tag` false leaves the tag out. */
  release(version: string, options?: ReleaseOptions): Promise<string>;
}

export interface ReleaseOptions {
  readonly tag?: string | false;
  /** How the release is wrong; see small-node.mjs and the played npm. */
  readonly fault?: "ci" | "build" | "incomplete" | "start" | "version" | "unready";
}

/** A clone at release 1.0.0, built in place as `npm run build` would. */
export async function createProgram(): Promise<Program> {
  const folder = await temporaryDirectory();
  const origin = join(folder, "origin");
  const root = join(folder, "tree");
  const bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "npm"), NPM, { mode: 0o755 });
  await mkdir(origin);
  const git = async (cwd: string, args: readonly string[]): Promise<string> => {
    const { stdout } = await execa("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd });
    return stdout;
  };
  await git(origin, ["init", "--quiet", "--initial-branch=main"]);
  const program: Program = {
    origin,
    root,
    path: `${bin}:${process.env["PATH"]}`,
    git: (...args) => git(root, args),
    inOrigin: (...args) => git(origin, args),
    async release(version, { tag = `v${version}`, fault } = {}) {
      await writeFile(join(origin, "package.json"), JSON.stringify({ name: "cairn", version, fault, type: "module" }));
      await writeFile(join(origin, "node.txt"), `import ${JSON.stringify(NODE_PROGRAM)};\n`);
      await writeFile(join(origin, ".gitignore"), "dist\ndist.former\nnode_modules/\n.cache/\n");
      await git(origin, ["add", "-A"]);
      await git(origin, ["commit", "--quiet", "-m", version]);
      if (tag !== false) await git(origin, ["tag", tag]);
      return git(origin, ["rev-parse", "HEAD"]);
    },
  };
  await program.release("1.0.0");
  await git(folder, ["clone", "--quiet", origin, root]);
  await execa("npm", ["run", "build"], { cwd: root, env: { PATH: program.path } });
  return program;
}

const NPM = `#!/bin/sh
set -e
fault() { grep -q "\\"fault\\":\\"$1\\"" package.json; }
case "$1" in
  ci|install) if fault ci; then echo "npm error the registry is unavailable" >&2; exit 1; fi; mkdir -p node_modules ;;
  run)
    if fault build; then echo "error TS1: it does not compile" >&2; exit 2; fi
    mkdir -p dist/runtime dist/control
    cp node.txt dist/runtime/main.js
    if ! fault incomplete; then echo "" > dist/control/main.js; fi ;;
esac
`;
