#!/usr/bin/env node
/** The command `cairn`: hands over to the compiled command line. */
// @ts-check

import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, "dist", "control", "main.js");

if (existsSync(entry)) {
  keepCompiledCode();
  const { main } = await import(pathToFileURL(entry).href);
  await main(process.argv.slice(2), root);
} else {
  process.stderr.write("cairn is not built yet: run `npm run build` first\n");
  process.exitCode = 1;
}

/**
 * A quarter of a short command's time went into compiling what the command before had compiled, too. The default place, a
 * known name below the shared temporary folder, would let another user of the machine put code there.
 */
function keepCompiledCode() {
  const { XDG_CACHE_HOME, HOME, NODE_COMPILE_CACHE } = process.env;
  const caches = XDG_CACHE_HOME ?? (HOME && join(HOME, ".cache"));
  if (caches && !NODE_COMPILE_CACHE) enableCompileCache(join(caches, "cairn", "compiled"));
}
