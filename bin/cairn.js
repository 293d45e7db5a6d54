#!/usr/bin/env node
/** The command `cairn`: hands over to the compiled command line. */
// @ts-check

import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (existsSync(join(root, "dist", "control"))) {
  // Half of the time of a short command goes into compiling JavaScript that was compiled at the last one, too.
  enableCompileCache();
  const { execute } = await import("@oclif/core/execute");
  await execute({ dir: import.meta.url });
} else {
  process.stderr.write("cairn is not built yet: run `npm run build` first\n");
  process.exitCode = 1;
}
