/**
 * Attachments that earlier versions kept as files in the home of the node that accepted them: `ab/ab12...`, named by their
 * SHA-256. They are read there until they are in the store.
 */

import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../contracts/database.ts";
import type { Logger } from "../../contracts/ports.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { writeAttachments } from "./chunks.ts";
import { hashOf, SHA256 } from "./refs.ts";

const FOLDER = /^[0-9a-f]{2}$/;

/** Null when there is no such file. */
export async function readHomeFile(directory: string, sha256: string): Promise<Buffer | null> {
  // The name is a hash by construction; anything else never becomes a path.
  if (!SHA256.test(sha256)) return null;
  return orWhenMissing(readFile(pathOf(directory, sha256)), null);
}

/** One at a time: each is removed once it is in the store, so that the next call goes on where this one was ended. */
export async function moveHomeFiles(
  { database, directory, logger }: { database: Database; directory: string; logger: Logger },
  signal?: AbortSignal,
): Promise<void> {
  const folders = await orWhenMissing(readdir(directory), []);
  for (const folder of folders.filter((name) => FOLDER.test(name))) {
    for (const name of await orWhenMissing(readdir(join(directory, folder)), [])) {
      if (signal?.aborted) return;
      if (!SHA256.test(name) || !name.startsWith(folder)) continue;
      const data = await readHomeFile(directory, name);
      // Another call was faster.
      if (data === null) continue;
      if (hashOf(data) !== name) {
        logger.warn(
          { file: pathOf(directory, name) },
          "an attachment's file was altered; it is not moved to the store",
        );
        continue;
      }
      const ref = { sha256: name, name, media_type: "", size: data.length };
      await database.transaction((tx) => writeAttachments(tx, [{ ref, data }]));
      await rm(pathOf(directory, name), { force: true });
    }
    // Not when something is left in it.
    await rmdir(join(directory, folder)).catch(() => {});
  }
}

function pathOf(directory: string, sha256: string): string {
  return join(directory, sha256.slice(0, 2), sha256);
}

async function orWhenMissing<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  return reading.catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return otherwise;
    throw error;
  });
}
