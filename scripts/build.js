/**
 * Makes `dist` from the sources: compiled JavaScript with types, the other files as they are, what the image has to install,
 * and the manifest that lets the command line load one command without importing all. A failed build leaves the former
 * `dist` in place.
 */
// @ts-check

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { isBuilt, SOURCES, STAMP, sourceFiles, sourceHash } from "./lib/build-stamp.js";
import { bundlePackages } from "./lib/bundle-packages.ts";
import { writeImagePackages } from "./lib/image-packages.ts";
import { withLock } from "./lib/lock.js";
import { CACHE, ROOT } from "./lib/paths.js";

try {
  if (!isBuilt()) await withLock("build", build);
} catch (error) {
  // What went wrong stands above, in the words of the tool that failed.
  process.stderr.write(`The build failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function build() {
  if (isBuilt()) return;
  const hash = sourceHash();
  const fresh = join(CACHE, `dist-${process.pid}`);
  const old = join(CACHE, `dist-old-${process.pid}`);
  const manifest = join(CACHE, `manifest-${process.pid}.json`);
  mkdirSync(CACHE, { recursive: true });
  try {
    compile(fresh);
    copyAssets(fresh);
    await bundlePackages(fresh, ROOT);
    writeImagePackages({ compiled: join(fresh, "runtime"), root: ROOT, target: join(fresh, "image") });
    run([join(ROOT, "scripts", "manifest.js"), fresh, manifest]);
    moveAside(join(ROOT, "dist"), old);
    renameSync(fresh, join(ROOT, "dist"));
    renameSync(manifest, join(ROOT, "oclif.manifest.json"));
    // Last, so that an interrupted build is done again.
    writeFileSync(join(ROOT, "dist", STAMP), hash);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
    rmSync(manifest, { force: true });
  }
}

/** Types are checked by the type check, not here: a start should not wait for it. @param {string} folder */
function compile(folder) {
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  run([tsc, "-p", "tsconfig.build.json", "--noCheck", "--outDir", folder]);
}

/** @param {string} folder */
function copyAssets(folder) {
  for (const file of SOURCES.flatMap(sourceFiles).filter((path) => !path.endsWith(".ts"))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(folder, file));
  }
}

/** @param {string} from @param {string} to */
function moveAside(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

/** @param {readonly string[]} args */
function run(args) {
  const result = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
  if (result.status !== 0) throw new Error(`${args[0]} ended with ${result.status ?? result.signal}`);
}
