#!/usr/bin/env node
/**
 * What a coding assistant's hook starts (`cairn capture install`): hands over to the compiled hook. Runs on Node 20 or newer,
 * and stays at its place through updates, as `bin/cairn.js` does. Whatever happens, the exit code is 0.
 */
// @ts-check

import { existsSync, lstatSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

try {
  const tree = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
  const dist = join(tree, "dist");
  // In the moment between the two renames of an update the former build still serves.
  const isGone = lstatSync(dist, { throwIfNoEntry: false }) === undefined;
  const built = isGone && existsSync(`${dist}.former`) ? `${dist}.former` : dist;
  const { main } = await import(pathToFileURL(join(built, "runtime", "client", "hook", "main.js")).href);
  await main(process.argv.slice(2));
} catch {
  // There is nobody to tell: the harness must not see it, and the log is the hook's own.
}
process.exitCode = 0;
