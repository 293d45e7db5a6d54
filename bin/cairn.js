#!/usr/bin/env node
/** The command `cairn`: hands over to the compiled command line. */
// @ts-check

import { existsSync, lstatSync, readFileSync, realpathSync, renameSync } from "node:fs";
import module from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const OLDEST_NODE = 24;

const tree = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(tree, "dist");
// An update that was killed between its two renames: what served before it serves again.
const isGone = lstatSync(dist, { throwIfNoEntry: false }) === undefined;
if (isGone && existsSync(`${dist}.former`)) renameSync(`${dist}.former`, dist);
// After an update `dist` leads to a build with a package.json, packages and migrations of its own.
const root = existsSync(dist) ? dirname(realpathSync(dist)) : tree;
const argv = process.argv.slice(2);
const entry = join(root, "dist", "control", "main.js");

if (argv.length === 1 && ["version", "--version", "-v"].includes(argv[0] ?? "")) {
  // Asked often, by scripts and health checks: no reason to load the rest. The same line as the command `version`.
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  process.stdout.write(`cairn ${version} (node ${process.versions.node}, ${process.platform}-${process.arch})\n`);
} else if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  const newer = existsSync(join(root, "scripts", "run.js"))
    ? `\`npm run -s cairn -- ${argv.join(" ")}\` fetches one for itself.`
    : `Get one with \`nvm install ${OLDEST_NODE}\` or \`fnm install ${OLDEST_NODE}\`, or from https://nodejs.org/en/download, and install Cairn anew with it.`;
  process.stderr.write(
    `cairn needs Node ${OLDEST_NODE} or newer, and this is ${process.versions.node} (${process.execPath}).\n${newer}\n`,
  );
  process.exitCode = 1;
} else if (existsSync(entry)) {
  // Half of the time of a short command goes into compiling JavaScript that was compiled at the last one, too. Only here and
  // not by the variable, which the service would find: it starts 5 % faster with a cache, and keeps 90 MB more in memory.
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, ".cache"));
  const cache = NODE_COMPILE_CACHE || (caches && join(caches, "cairn"));
  if (cache) module.enableCompileCache(cache);
  const { main } = await import(pathToFileURL(entry).href);
  await main(argv, root);
} else {
  process.stderr.write("cairn is not built yet: run `npm run build` first\n");
  process.exitCode = 1;
}
