/**
 * Puts together what the builder gets to see: a directory with exactly the files of the image. Nothing of a deployment is in
 * it, and the same files give the same bytes, so that unchanged steps are found in the cache.
 */

import { createHash } from "node:crypto";
import {
  chmod,
  copyFile,
  cp,
  lutimes,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { pluginsIn } from "../../../runtime/files/plugin-package.ts";
import { copyExtra, type ExtraKind } from "./extras.ts";
import type { Source } from "./source.ts";

export interface ContextInput {
  readonly source: Source;
  /** Absolute paths, in the configuration's order. */
  readonly pluginDirs: readonly string[];
  readonly skillDirs: readonly string[];
  /** Seconds since 1970 that every file gets as its time. */
  readonly timeS: number;
}

/** Before any file of the project: a time that no archive format finds strange. */
export const FIXED_TIME_S = Date.UTC(2000, 0, 1) / 1000;

/** Source maps and types are for people who read the program, not for Node; licences of what was bundled go along. */
const COMPILED = /\.(?:js|json|sql|wasm)$|^NOTICE$/;

const STEPS = ["strip-packages.js", "install-plugins.js"];

/**
 * Fills the empty directory `target`. Gives the paths of plugins and skills that were left out because they may hold a secret.
 * INFRA_PLAN_INVALID for a plugin directory that cannot be taken.
 */
export async function assembleContext(target: string, input: ContextInput): Promise<readonly string[]> {
  const { root, version } = input.source;
  const images = join(root, "templates", "image");
  await copyInto(join(images, "Dockerfile"), join(target, "Dockerfile"));
  for (const step of STEPS) await copyInto(join(images, step), join(target, "steps", step));
  for (const name of ["package.json", "package-lock.json"]) {
    await copyInto(join(root, "dist", "image", name), join(target, "dependencies", name));
  }
  const application = join(target, "application");
  await copyTree(join(root, "dist", "runtime"), join(application, "dist", "runtime"), (name) => COMPILED.test(name));
  await copyTree(join(root, "migrations"), join(application, "migrations"), (name) => name.endsWith(".sql"));
  await copyInto(join(root, "LICENSE"), join(application, "LICENSE"));
  const { name, license, type } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await writeFile(join(application, "package.json"), `${JSON.stringify({ name, version, license, type }, null, 2)}\n`);
  // Empty ones as well: a step that copies a directory wants it to be there.
  for (const directory of ["plugins", "plugin-manifests", "skills"]) await mkdir(join(target, directory));
  const leftOut = [
    ...(await copyExtras(target, "plugin_dirs", input.pluginDirs)),
    ...(await copyExtras(target, "skill_dirs", input.skillDirs)),
  ];
  await normalizeTimes(target, input.timeS);
  return leftOut;
}

/** Of the paths and contents of all files below a directory, in hexadecimal digits. */
export async function contentHash(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isLink: entry.isSymbolicLink() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const hash = createHash("sha256");
  for (const { path, isLink } of files) {
    const content = isLink ? Buffer.from(await readlink(path)) : await readFile(path);
    hash.update(`${relative(directory, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

async function copyExtras(target: string, kind: ExtraKind, directories: readonly string[]): Promise<readonly string[]> {
  const leftOut: string[] = [];
  const folder = kind === "plugin_dirs" ? "plugins" : "skills";
  for (const [index, directory] of directories.entries()) {
    const copied = join(target, folder, String(index));
    leftOut.push(...(await copyExtra(kind, directory, copied)));
    if (kind === "plugin_dirs") await checkManifests(directory);
    if (kind === "plugin_dirs") await copyManifests(copied, join(target, "plugin-manifests", String(index)));
  }
  return leftOut;
}

/** A manifest that is none would become part of an image in which nothing can load it. */
async function checkManifests(directory: string): Promise<void> {
  for (const { path, written, problem } of await pluginsIn(directory)) {
    if (!written || problem === null) continue;
    throw new InfraError("INFRA_PLAN_INVALID", `${path} of plugin_dirs is no plugin: ${problem}.`, {
      hint: "`cairn plugins list` shows what is wrong with each.",
    });
  }
}

/** What npm reads, apart from the plugin's code: changed code does not fetch its packages again. */
async function copyManifests(plugin: string, target: string): Promise<void> {
  const names = ["package.json", "package-lock.json", "npm-shrinkwrap.json"];
  const files = await readdir(plugin, { recursive: true });
  for (const file of files.filter((path) => names.includes(basename(path)))) {
    await copyInto(join(plugin, file), join(target, file));
  }
}

async function copyTree(from: string, to: string, wanted: (name: string) => boolean): Promise<void> {
  try {
    await cp(from, to, {
      recursive: true,
      filter: async (path) => (await stat(path)).isDirectory() || wanted(basename(path)),
    });
  } catch (error) {
    throw new InfraError("INFRA_BUILD_FAILED", `${from} cannot be copied into the image.`, { cause: error });
  }
}

async function copyInto(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
}

/** Times and modes that do not depend on the machine. */
async function normalizeTimes(directory: string, timeS: number): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isSymbolicLink()) {
      await lutimes(path, timeS, timeS);
      continue;
    }
    if (entry.isDirectory()) await normalizeTimes(path, timeS);
    else await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
    await utimes(path, timeS, timeS);
  }
  await chmod(directory, 0o755);
  await utimes(directory, timeS, timeS);
}
