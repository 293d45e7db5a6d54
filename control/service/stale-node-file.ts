/**
 * Tells a node that runs from a stale `run/node.json`: the file outlives a node that has crashed, and its pid may have been given
 * to another program since. The node's lock, which ends with its process, decides.
 */

import { execFile } from "node:child_process";
import { open, readdir, stat } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { tryLock } from "fs-native-extensions";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { type NodeFile, nodeLockPath, readNodeFile } from "./node-file.ts";
import { isAlive } from "./processes.ts";

export type NodeState =
  | { readonly state: "running"; readonly node: NodeFile }
  /** `stale` is what a node left behind that did not end by itself. */
  | { readonly state: "stopped"; readonly stale: NodeFile | null }
  /**
   * Some process holds the home directory and is no node that commands can talk to: it is starting, it is the short-lived
   * one of another command, or it runs in a container and its number means nothing here.
   */
  | { readonly state: "busy" };

export async function inspectNode(home: string): Promise<NodeState> {
  const lock = nodeLockPath(home);
  const node = await readNodeFile(home);
  if (!(await isLocked(lock))) return { state: "stopped", stale: node };
  if (node !== null && !node.maintenance && (await holds(node, lock))) return { state: "running", node };
  return { state: "busy" };
}

/** Whether the process of `node` holds the home directory: also while it ends and has taken `run/node.json` away already. */
export async function holdsHome(home: string, node: NodeFile): Promise<boolean> {
  const lock = nodeLockPath(home);
  return (await isLocked(lock)) && (await holds(node, lock));
}

/** Asks for the lock as a reader would, and gives it back at once. */
async function isLocked(path: string): Promise<boolean> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (file === null) return false;
  try {
    return !tryLock(file.fd, { shared: true });
  } finally {
    await file.close();
  }
}

async function holds(node: NodeFile, lock: string): Promise<boolean> {
  if (!isAlive(node.pid)) return false;
  return process.platform === "linux" ? hasOpen(node.pid, lock) : startedBefore(node.pid, node.started_at);
}

/** Whether the process has the file open, or may have it: files of another user's process, and of one that ends, are not shown. */
async function hasOpen(pid: number, path: string): Promise<boolean> {
  const wanted = await stat(path);
  const folder = `/proc/${pid}/fd`;
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
  // A process that ends shows no files any more before its last thread has closed them, and with them the lock.
  if (names.length === 0) return true;
  for (const name of names) {
    const found = await stat(`${folder}/${name}`).catch(() => null);
    if (found !== null && found.ino === wanted.ino && found.dev === wanted.dev) return true;
  }
  return false;
}

/** A process that got the number later is younger than the file. Clocks of the two sources differ by a second or so. */
async function startedBefore(pid: number, startedAt: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)], {
    timeout: 5_000,
    env: { ...process.env, LC_ALL: "C" },
  });
  const started = Date.parse(stdout.trim());
  return Number.isNaN(started) || started <= Date.parse(startedAt) + 2_000;
}
