/** The tasks behind the npm scripts, as arguments for Node, from the root of the repository. */
// @ts-check

import { existsSync } from "node:fs";
import { join } from "node:path";
import { SOURCES } from "./build-stamp.js";
import { CACHE, ROOT } from "./paths.js";

/**
 * @typedef {object} Task
 * @property {readonly string[]} command what Node runs; arguments of the caller follow
 * @property {Readonly<Record<string, string>>} [env] variables that it gets unless they are set
 * @property {boolean} [built] whether `dist` has to be up to date first
 */

/** @type {Readonly<Record<string, Task>>} */
export const TASKS = {
  start: { command: ["bin/cairn.js", "start"], built: true },
  cairn: { command: ["bin/cairn.js"], built: true },
  test: { command: ["scripts/test.ts"] },
  check: { command: ["scripts/check.ts"] },
  "prepare-lanes": { command: ["test/lanes/prepare.ts"] },
  nightly: {
    command: ["scripts/nightly.ts"],
    env: { CAIRN_TEST_SEED: "random", CAIRN_TEST_BACKENDS: "both" },
    built: true,
  },
  bench: { command: ["bench/run.ts"], built: true },
  build: { command: ["scripts/build.js"] },
  lint: { command: ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."] },
  format: { command: ["node_modules/@biomejs/biome/bin/biome", "check", "--write", "."] },
  typecheck: {
    command: [
      "node_modules/typescript/bin/tsc",
      ...["-p", "tsconfig.json", "--noEmit"],
      // What was found last time is looked at again only where something that it rests on has changed.
      ...["--incremental", "--tsBuildInfoFile", join(CACHE, "types.tsbuildinfo")],
    ],
  },
  imports: {
    command: [
      "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs",
      "--config",
      ".dependency-cruiser.cjs",
      "--output-type",
      "err-long",
      ...SOURCES.filter((folder) => existsSync(join(ROOT, folder))),
    ],
  },
  licences: { command: ["scripts/licences.ts"] },
  names: { command: ["scripts/names.ts"] },
};
