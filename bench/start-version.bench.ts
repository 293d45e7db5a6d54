/** The shortest command, as a measure of what every command pays before it does anything. */

import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "./support/bench.ts";

const LAUNCHER = join(dirname(dirname(fileURLToPath(import.meta.url))), "bin", "cairn.js");

export const bench: Bench = {
  about: "wall time of `cairn version`, from spawning the process to its end",
  async run(context) {
    const run = promisify(execFile);
    await context.time({ name: "cairn version", times: 20, warmUp: 2, goal: { of: "p50", atMost: 200 } }, async () => {
      await run(process.execPath, [LAUNCHER, "version"], { signal: context.signal });
    });
  },
};
