/** Locks of Pulumi's own in a backend that is a folder: `.pulumi/locks/organization/<project>/<stack>/<id>.json`. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readBelow, textOf } from "../../../runtime/files/read-file.ts";
import type { EngineLock } from "./engine.ts";

/** Name of the project in `Pulumi.yaml`; part of every URN, so it never changes. */
export const PROJECT = "cairn";

/** A lock has a few hundred bytes. */
const MAX_BYTES = 64 * 1024;
/** Milliseconds that an engine gets to finish writing its lock; it takes far less. */
const WRITING_MS = 1_000;

/** The folder with the locks of one stack; of all stacks when none is named. `state` is the backend's folder. */
export function locksFolder(state: string, stack?: string): string {
  const all = join(state, ".pulumi", "locks", "organization", PROJECT);
  return stack === undefined ? all : join(all, stack);
}

/** In the order of their stacks; all stacks of the folder when none is named. Empty where there is no such folder. */
export async function readEngineLocks(state: string, stack?: string): Promise<readonly EngineLock[]> {
  const stacks = stack === undefined ? await entries(locksFolder(state)) : [stack];
  const found = stacks.map(async (name) => {
    const files = (await entries(locksFolder(state, name))).filter((file) => file.endsWith(".json"));
    return Promise.all(files.map((file) => readLock(name, locksFolder(state, name), file)));
  });
  return (await Promise.all(found)).flat().filter((lock) => lock !== null);
}

/**
 * Removes what is no lock: a file without content, or the temporary one beside it, which an engine leaves on a full disk or
 * when it is killed while it writes. Each of them would stop every later run. An engine that is writing its lock just now is
 * done within a second. Names of the removed files.
 */
export async function removeBrokenLocks(state: string, stack: string): Promise<readonly string[]> {
  const before = await brokenLocks(state, stack);
  if (before.length === 0) return [];
  await sleep(WRITING_MS);
  const now = await brokenLocks(state, stack);
  const removed = before.filter((name) => now.includes(name));
  await Promise.all(removed.map((name) => rm(join(locksFolder(state, stack), name), { recursive: true, force: true })));
  return removed;
}

async function brokenLocks(state: string, stack: string): Promise<readonly string[]> {
  const folder = locksFolder(state, stack);
  const found = (await entries(folder)).map(async (name) => {
    const whole = name.endsWith(".json") && (await readLock(stack, folder, name)) !== null;
    return whole ? null : name;
  });
  return (await Promise.all(found)).filter((name) => name !== null);
}

async function entries(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}

/** Null for what was released meanwhile or is half written, and for what is no lock. */
async function readLock(stack: string, folder: string, name: string): Promise<EngineLock | null> {
  try {
    const content: unknown = JSON.parse(textOf(await readBelow(folder, [name], { maxBytes: MAX_BYTES })));
    if (typeof content !== "object" || content === null || !("pid" in content && "hostname" in content)) return null;
    const { pid, username, hostname, timestamp } = content as Record<string, unknown>;
    const file = join(folder, name);
    return {
      stack,
      pid: Number(pid),
      user: String(username),
      host: String(hostname),
      started_at: String(timestamp),
      file,
    };
  } catch {
    return null;
  }
}
