/** Is a file a whole backup of a memory? Asked before data are deleted on the strength of it. */

import { createReadStream } from "node:fs";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";

/** How the first line of every archive begins (runtime/files/memory-archive.ts). */
const BEGINNING = '{"$archive":"cairn"';

/** False for anything else, and for one that was cut off: it is read to its end. Keeps nothing of it in memory. */
export async function isBackup(path: string, signal: AbortSignal): Promise<boolean> {
  let head = "";
  const inspector = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (head.length < BEGINNING.length) head += chunk.toString("latin1", 0, BEGINNING.length);
      done();
    },
  });
  try {
    await pipeline(createReadStream(path), createGunzip(), inspector, { signal });
  } catch {
    signal.throwIfAborted();
    return false;
  }
  return head.startsWith(BEGINNING);
}
