/** Runs npm, under a Node of our choice but with the configuration that the machine's own npm has. */
// @ts-check

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { runToEnd } from "./child.js";

/**
 * Runs `npm args...` with its output on standard error; resolves with the exit code.
 *
 * @param {string} node
 * @param {readonly string[]} args
 */
export async function runNpm(node, args) {
  const npm = npmPath();
  const env = { ...process.env };
  // npm looks for its global configuration beside the Node that runs it; the machine's is beside the machine's Node.
  env.npm_config_globalconfig ??= ask(npm, ["config", "get", "globalconfig"]);
  return runToEnd(node, [npm, ...args], { stdout: "stderr", env });
}

/** The `npm-cli.js` that runs this script, else the one that came with this Node, else the one on PATH. */
function npmPath() {
  const running = process.env.npm_execpath;
  const bundled = join(dirname(dirname(process.execPath)), "lib", "node_modules", "npm", "bin", "npm-cli.js");
  const candidates = [running?.endsWith("npm-cli.js") ? running : undefined, bundled, npmOnPath()];
  const found = candidates.find((path) => path !== undefined && existsSync(path));
  if (found === undefined) throw new Error("npm was not found. Install it and try again.");
  return found;
}

/** `npm` on PATH is a link to its JavaScript. */
function npmOnPath() {
  try {
    const script = 'readlink -f "$(command -v npm)"';
    return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

/** @param {string} npm @param {readonly string[]} args */
function ask(npm, args) {
  return execFileSync(process.execPath, [npm, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}
