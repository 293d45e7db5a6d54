/** Reads files that others may have put there: a pipe or a device in a file's place must not hold doctor up. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { openRoot } from "../../../runtime/files/directory.ts";
import { readTextIn } from "../../../runtime/files/read-file.ts";
import { FileRefused } from "../../../runtime/files/refusal.ts";

const LARGEST_BYTES = 4 * 1024 * 1024;

/** Null when there is none; rejects, with the reason, for what is no regular file, too large, or not to be read. */
export async function readRegularFile(path: string): Promise<string | null> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    if (stats.size > LARGEST_BYTES) throw new Error(`${path} is larger than 4 MiB`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** As `readRegularFile`, of a file directly in a directory that agents may write to: no link is followed. */
export async function readOwnFile(root: string, name: string): Promise<string | null> {
  try {
    await using directory = await openRoot(root);
    return await readTextIn(directory, name, { maxBytes: LARGEST_BYTES });
  } catch (error) {
    if (error instanceof FileRefused) throw new Error(`${join(root, name)}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Words for what the system said, code first where there is one. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && !error.message.includes(String(error.code))
    ? `${error.code}: ${error.message}`
    : error.message;
}
