/**
 * Takes out of `node_modules` what no container loads, while the image is built. `strip-packages.js ARCH FOLDER`, with Docker's
 * name of the architecture; `strip-packages.js --cpu ARCH` prints Node's.
 */
// @ts-check

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

/** @type {Readonly<Record<string, string>>} */
const CPUS = { amd64: "x64", arm64: "arm64", arm: "arm", ppc64le: "ppc64", s390x: "s390x", riscv64: "riscv64" };

/** Node refuses to run TypeScript below node_modules, nothing reads source maps here, and prose is for people. */
const DEAD = /\.(?:map|[cm]?ts|tsbuildinfo|flow|markdown|md|bare)$/i;

/** Licences ask to be passed on with the code. */
const KEPT = /^(?:licen[cs]e|notice|copying)/i;

const [first = "", second = ""] = process.argv.slice(2);
if (first === "--cpu") process.stdout.write(cpuOf(second));
else strip(second, `linux-${cpuOf(first)}`);

/** @param {string} architecture */
function cpuOf(architecture) {
  return CPUS[architecture] ?? architecture;
}

/** @param {string} folder @param {string} platform */
function strip(folder, platform) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name === "prebuilds") keepOnly(path, platform);
      else strip(path, platform);
      if (readdirSync(path).length === 0) rmSync(path, { recursive: true });
    } else if (DEAD.test(entry.name) && !KEPT.test(entry.name)) {
      rmSync(path);
    }
  }
}

/** Native parts for other systems. @param {string} prebuilds @param {string} platform */
function keepOnly(prebuilds, platform) {
  const names = readdirSync(prebuilds);
  // Named in a way that this does not know: better too much than nothing.
  if (!names.includes(platform)) return;
  for (const name of names) if (name !== platform) rmSync(join(prebuilds, name), { recursive: true });
  strip(join(prebuilds, platform), platform);
}
