/** Finds a Node that is new enough, and fetches one from the npm registry when there is none. */
// @ts-check

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { withLock } from "./lock.js";
import { runNpm } from "./npm.js";
import { CACHE } from "./paths.js";

const OLDEST_MAJOR = 24;

/** What is fetched. */
const FETCHED_VERSION = "24.21.0";

/**
 * The npm package with the official binary for this machine. The package `node` would fetch it in an install script, and npm
 * may be told to run none.
 */
const FETCHED_PACKAGE = `${process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node"}-${process.platform}-${process.arch}`;

/**
 * Path of a Node 24 or newer: this process's own, else the one fetched before, else one fetched now.
 *
 * @returns {Promise<string>}
 */
export async function findNode() {
  if (major(process.versions.node) >= OLDEST_MAJOR) return process.execPath;
  const home = join(CACHE, `node-${FETCHED_VERSION}`);
  const node = join(home, "node_modules", FETCHED_PACKAGE, "bin", "node");
  if (runs(node)) return node;
  await withLock("node", async () => {
    if (!runs(node)) await fetchNode(home);
  });
  if (!runs(node)) {
    throw new Error(
      `The fetched Node does not run on this machine. Install Node ${OLDEST_MAJOR} or newer and try again.`,
    );
  }
  return node;
}

/** Installs beside the final place and moves, so that an interrupted fetch leaves nothing half done. @param {string} home */
async function fetchNode(home) {
  process.stderr.write(
    `This is Node ${process.versions.node}; fetching Node ${FETCHED_VERSION} from the npm registry (once)\n`,
  );
  const temporary = `${home}.${process.pid}`;
  mkdirSync(temporary, { recursive: true });
  try {
    const code = await runNpm(process.execPath, [
      "install",
      "--prefix",
      temporary,
      "--no-save",
      "--no-package-lock",
      "--no-audit",
      "--no-fund",
      "--no-update-notifier",
      "--ignore-scripts",
      "--loglevel=error",
      `${FETCHED_PACKAGE}@${FETCHED_VERSION}`,
    ]);
    if (code !== 0) {
      throw new Error(
        `Node ${FETCHED_VERSION} could not be fetched. Install Node ${OLDEST_MAJOR} or newer and try again.`,
      );
    }
    rmSync(home, { recursive: true, force: true });
    renameSync(temporary, home);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** @param {string} node */
function runs(node) {
  if (!existsSync(node)) return false;
  try {
    const version = execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8", timeout: 30_000 });
    return major(version) >= OLDEST_MAJOR;
  } catch {
    return false;
  }
}

/** @param {string} version */
function major(version) {
  return Number.parseInt(version, 10);
}
