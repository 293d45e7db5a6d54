/** Hands a filter of system calls to the program that loads it: as an open file that has no name any more. */

import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";

/** `directory`: one that commands cannot reach. The handle is at the beginning of the file; the caller closes it. */
export async function openFilter(directory: string, name: string, filter: Buffer): Promise<FileHandle> {
  const path = join(directory, `.filter-${name}`);
  const handle = await open(path, "wx+", 0o600);
  try {
    // By position, so that reading starts at the first byte.
    await handle.write(filter, 0, filter.length, 0);
  } catch (error) {
    await handle.close();
    throw error;
  } finally {
    await rm(path, { force: true });
  }
  return handle;
}
