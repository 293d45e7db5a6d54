/** Keeps `node_modules` equal to the lockfile. */
// @ts-check

import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { withLock } from "./lock.js";
import { runNpm } from "./npm.js";
import { ROOT } from "./paths.js";

/**
 * Install scripts of packages are not run: none is needed. Those of @pulumi/command and @pulumi/kubernetes fetch what the engine
 * fetches itself, protobufjs looks at version numbers. test/scripts/dependencies.test.ts knows all that have one.
 */
export const INSTALL = ["ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/**
 * Runs `npm ci` when `node_modules` is missing or differs from `package-lock.json`.
 *
 * @param {string} node
 */
export async function ensureDependencies(node) {
  if (!installed()) await withLock("packages", () => install(node));
}

/** @param {string} node */
async function install(node) {
  if (installed()) return;
  process.stderr.write("Installing packages: this takes up to a minute\n");
  const code = await runNpm(node, INSTALL);
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}`);
}

/** @typedef {Record<string, { version?: string, optional?: boolean, devOptional?: boolean }>} Packages */

function installed() {
  const wanted = packages(join(ROOT, "package-lock.json"));
  // npm leaves this one as the last step of an installation.
  const present = packages(join(ROOT, "node_modules", ".package-lock.json"));
  if (wanted === undefined) throw new Error("package-lock.json is missing or unreadable");
  return present !== undefined && isSameTree(wanted, present);
}

/**
 * Whether exactly the packages of the lockfile are there. A package for another platform is optional and may be absent.
 *
 * @param {Packages} wanted
 * @param {Packages} present
 */
export function isSameTree(wanted, present) {
  const extra = Object.keys(present).some((path) => wanted[path] === undefined);
  const lacking = Object.entries(wanted).some(([path, entry]) => {
    if (path === "") return false;
    const found = present[path];
    if (found === undefined) return entry.optional !== true && entry.devOptional !== true;
    return found.version !== entry.version;
  });
  return !extra && !lacking;
}

/**
 * @param {string} file
 * @returns {Packages | undefined}
 */
function packages(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}
