/** Files that only their owner reads, written whole or not at all. */

import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeDurably } from "../../files/durable.ts";

/** Prefix of files that are being written: they are never read. */
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
  const temporary = join(dirname(path), TEMPORARY_PREFIX + randomBytes(9).toString("hex"));
  await writeDurably(path, text, { mode: 0o600, temporary });
}
