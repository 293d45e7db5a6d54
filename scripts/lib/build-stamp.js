/** Knows whether `dist` was built from the sources that are here. */
// @ts-check

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { runToEnd } from "./child.js";
import { ROOT } from "./paths.js";

/** Folders that are compiled. */
export const SOURCES = ["runtime", "control", "infra"];

/** Below `dist`: the hash of the sources that it was built from. */
export const STAMP = ".sources";

const SETTINGS = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/build.js",
  "scripts/lib/bundle-packages.ts",
  "scripts/lib/bundled.js",
  "scripts/lib/image-packages.ts",
  "scripts/manifest.js",
];

/**
 * Builds when a source differs from those of the last build.
 *
 * @param {string} node
 */
export async function ensureBuilt(node) {
  if (isBuilt()) return;
  process.stderr.write("Building: this takes up to a minute\n");
  const code = await runToEnd(node, ["scripts/build.js"]);
  if (code !== 0) throw new Error("Nothing was started.");
}

export function isBuilt() {
  const stamp = join(ROOT, "dist", STAMP);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === sourceHash();
}

/** SHA-256 over names and contents of everything that the build reads. */
export function sourceHash() {
  const hash = createHash("sha256");
  for (const file of [...SETTINGS, ...SOURCES.flatMap((folder) => sourceFiles(folder))]) {
    if (!existsSync(join(ROOT, file))) continue;
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update("\0");
  }
  return hash.digest("hex");
}

/**
 * Files below a folder, as sorted paths from the root of the repository.
 *
 * @param {string} folder
 * @returns {string[]}
 */
export function sourceFiles(folder) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? sourceFiles(path) : [path];
    })
    .sort();
}
