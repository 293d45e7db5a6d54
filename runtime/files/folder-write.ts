/**
 * Whole folders below a directory that other users may write to: made and removed as one step, by handles, without following a
 * link that was put in the way meanwhile.
 */

import { constants } from "node:fs";
import { mkdir, open, rename, rmdir, unlink } from "node:fs/promises";
import { codeOf } from "../contracts/system-errors.ts";
import { listEntries, type OpenDirectory, openBelow, statEntry } from "./directory.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Deeper folders are not removed: nothing of ours makes them. */
const MAX_DEPTH = 64;

export interface NewFile {
  /** Relative to the folder, free of `..` and empty parts. */
  readonly path: string;
  readonly data: Uint8Array;
}

/** False where something has the name. `temporary` is a free name, which the folder has until it is whole. */
export async function createFolder(
  parent: OpenDirectory,
  name: string,
  files: readonly NewFile[],
  { temporary, signal }: { readonly temporary: string; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  if ((await statEntry(parent, name)) !== null) return false;
  try {
    await mkdir(parent.at(temporary));
    for (const { path, data } of files) {
      signal?.throwIfAborted();
      const parts = path.split("/");
      await using folder = await openBelow(parent, [temporary, ...parts.slice(0, -1)], true);
      await writeNew(folder, parts.at(-1) ?? "", data);
    }
    signal?.throwIfAborted();
    await rename(parent.at(temporary), parent.at(name));
  } catch (error) {
    await removeTree(parent, temporary).catch(() => undefined);
    if (codeOf(error) === "ENOTEMPTY" || codeOf(error) === "EEXIST") return false;
    throw error;
  }
  await parent.handle.sync().catch(() => undefined);
  return true;
}

/** False where there is no folder of this name. It has the name `temporary` while it is emptied. */
export async function removeFolder(parent: OpenDirectory, name: string, temporary: string): Promise<boolean> {
  const stats = await statEntry(parent, name);
  if (!stats?.isDirectory()) return false;
  await rename(parent.at(name), parent.at(temporary));
  await removeTree(parent, temporary);
  await parent.handle.sync().catch(() => undefined);
  return true;
}

async function writeNew(folder: OpenDirectory, name: string, data: Uint8Array): Promise<void> {
  const handle = await open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666);
  try {
    await handle.writeFile(data);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeTree(parent: OpenDirectory, name: string, depth = 0): Promise<void> {
  if (depth > MAX_DEPTH) throw new RangeError("the folders lie too deep");
  {
    await using folder = await openBelow(parent, [name]);
    for (const entry of await listEntries(folder)) {
      if (entry.isDirectory()) await removeTree(folder, entry.name, depth + 1);
      else await unlink(folder.at(entry.name));
    }
  }
  await rmdir(parent.at(name));
}
