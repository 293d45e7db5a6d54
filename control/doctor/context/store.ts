/** Reads the files of the embedded store, without opening it: a node may have it open. */

import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { reasonOf } from "./regular-file.ts";

export interface StoreSnapshot {
  readonly path: string;
  /** `new`: there is none yet; `incomplete`: files without a database in them. */
  readonly state: "new" | "incomplete" | "complete";
  /** Why its directory cannot be read; null when it can. */
  readonly problem: string | null;
  /** Major version of the PostgreSQL that wrote it. */
  readonly major: string | null;
  /** A process has it open. */
  readonly locked: boolean;
  /** The process that its lock file names; a process that was killed leaves its lock file behind. */
  readonly holder: { readonly pid: number; readonly since: string } | null;
  readonly bytes: number;
}

/** Never rejects. */
export async function readStore(path: string): Promise<StoreSnapshot> {
  const nothing = { path, state: "new" as const, problem: null, major: null, locked: false, holder: null, bytes: 0 };
  let names: readonly string[];
  try {
    names = await readdir(path);
  } catch (error) {
    return codeOf(error) === "ENOENT" ? nothing : { ...nothing, problem: reasonOf(error) };
  }
  const major = await readFile(join(path, "data", "PG_VERSION"), "utf8").catch(() => null);
  const state = major !== null ? "complete" : names.includes("data") ? "incomplete" : "new";
  const lock = join(path, "lock");
  const [locked, holder, bytes] = await Promise.all([isLocked(lock), readHolder(lock), sizeOf(path)]);
  return { path, state, problem: null, major: major?.trim() ?? null, locked, holder, bytes };
}

/** Takes the lock as a reader would, and releases it at once. */
async function isLocked(path: string): Promise<boolean> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return false;
  try {
    return !tryLock(file.fd, { shared: true });
  } finally {
    await file.close();
  }
}

async function readHolder(path: string): Promise<StoreSnapshot["holder"]> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof holder !== "object" || holder === null || !("pid" in holder) || !("since" in holder)) return null;
    return { pid: Number(holder.pid), since: String(holder.since) };
  } catch {
    // None, or its name is just being written.
    return null;
  }
}

/** Bytes of the files below a path. They come and go while a node works: what is gone counts nothing. */
export async function sizeOf(path: string): Promise<number> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
