/** A source tree, a home directory and a node between them, for tests of `update`. */

import { spawn } from "node:child_process";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, onTestFinished } from "vitest";
import { MINIMAL, temporaryDirectory } from "../deployment.ts";
import { wrongWith } from "../result-schema.ts";
import { createProgram, type Program } from "./program.ts";

const RUN = fileURLToPath(new URL("./run.ts", import.meta.url));

export interface UpdateFixture extends Program {
  readonly home: string;
  start(): Promise<void>;
  update(options?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Version and process of the node that runs; null when none does. */
  node(): Promise<{ readonly version: string; readonly pid: number } | null>;
  /** Version that the next start would run. */
  serving(): Promise<string>;
}

export async function fixture(): Promise<UpdateFixture> {
  const [program, home] = await Promise.all([createProgram(), temporaryDirectory()]);
  await writeFile(join(home, "cairn.yaml"), MINIMAL);
  const env = { PATH: program.path, HOME: home, SERVICE_HOME: home, SERVICE_API_TOKEN: "cairn_token-of-the-test-1" };
  const node = async () => {
    const text = await readFile(join(home, "run", "node.json"), "utf8").catch(() => null);
    return text === null ? null : JSON.parse(text);
  };
  onTestFinished(async () => {
    const running = await node();
    if (running !== null) process.kill(running.pid, "SIGKILL");
  });
  const entry = join(program.root, "dist", "runtime", "main.js");
  return {
    ...program,
    home,
    node,
    async start() {
      const child = spawn(process.execPath, [entry, "--dir", home, "--home", home], {
        env,
        stdio: "ignore",
        detached: true,
      });
      child.unref();
      await expect.poll(node).not.toBeNull();
    },
    async update(options = {}) {
      const asked = JSON.stringify({ root: program.root, dir: home, ...options });
      const { stdout } = await execa(process.execPath, [RUN, asked], { env, extendEnv: false, reject: false });
      if (stdout === "") return { killed: true };
      const result = JSON.parse(stdout);
      // What an update says at its end is the document of `update --json`.
      if (!("error" in result)) expect(wrongWith("update", result)).toBeNull();
      return result;
    },
    async serving() {
      const build = dirname(await realpath(join(program.root, "dist")));
      return JSON.parse(await readFile(join(build, "package.json"), "utf8")).version;
    },
  };
}
