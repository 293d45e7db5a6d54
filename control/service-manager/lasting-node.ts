/** The Node that a unit names: one that stays when the cache of the source tree is cleared, or another Node is fetched into it. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, chmod, copyFile, link, mkdir, rename } from "node:fs/promises";
import { delimiter, join, sep } from "node:path";
import process from "node:process";
import { promisify } from "node:util";

export interface LastingNodeInput {
  /** Home directory of the deployment. */
  readonly home: string;
  /** The Node that runs this command, its version, and PATH. */
  readonly execPath?: string;
  readonly version?: string;
  readonly path?: string;
}

const OLDEST_MAJOR = 24;
const ANSWER_MS = 10_000;

/** This process's own where that stays; else one of PATH that is new enough; else a copy in the home directory. */
export async function lastingNode({
  home,
  execPath = process.execPath,
  version = process.versions.node,
  path = process.env["PATH"] ?? "",
}: LastingNodeInput): Promise<string> {
  if (!isPassing(execPath)) return execPath;
  for (const folder of path.split(delimiter)) {
    if (folder === "" || isPassing(folder)) continue;
    const candidate = join(folder, "node");
    if (await isNewEnough(candidate)) return candidate;
  }
  return copyInto(join(home, "node"), execPath, version);
}

/** Npm puts the programs of its packages in front of PATH. */
function isPassing(path: string): boolean {
  const parts = path.split(sep);
  return parts.includes(".cache") || parts.includes("node_modules");
}

async function isNewEnough(node: string): Promise<boolean> {
  try {
    await access(node, constants.X_OK);
    const { stdout } = await promisify(execFile)(node, ["--version"], { timeout: ANSWER_MS });
    return Number.parseInt(stdout.replace(/^v/, ""), 10) >= OLDEST_MAJOR;
  } catch {
    return false;
  }
}

async function copyInto(folder: string, execPath: string, version: string): Promise<string> {
  const copy = join(folder, `node-${version}`);
  if (await isNewEnough(copy)) return copy;
  const temporary = `${copy}.${process.pid}`;
  await mkdir(folder, { recursive: true, mode: 0o755 });
  // A second name of the same file costs nothing, where both are on one disk.
  await link(execPath, temporary).catch(() => copyFile(execPath, temporary));
  await chmod(temporary, 0o755);
  await rename(temporary, copy);
  return copy;
}
