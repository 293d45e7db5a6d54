/** Files that only their owner reads, written whole or not at all. */

import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Begins the names of files that are being written: nobody reads them. */
export const TEMPORARY_PREFIX = ".tmp-";

/** Makes the directory with mode 0700, or narrows it to that. Throws when it is no directory, or another's. */
export async function preparePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a directory.`);
  if ((found.mode & 0o077) !== 0) await chmod(path, 0o700);
}

/**
 * Temporary file in the same directory, synced, renamed, the directory synced: after a crash there is the file as it was
 * or as it is now. Leaves nothing behind when it fails.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, TEMPORARY_PREFIX + randomBytes(9).toString("hex"));
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(directory);
}

/** A rename is on disk once its directory is. Some file systems cannot; then it is as safe as they are. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, "r");
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch {
    // See above.
  }
}
