/** Is a file a whole backup of a memory? Asked before data are deleted on the strength of it. */

import { isWholeGzip } from "./archive-file.ts";

/** How the first line of every archive begins (runtime/files/memory-archive.ts). */
const BEGINNING = '{"$archive":"cairn"';

/** False for anything else, and for one that was cut off: it is read to its end. Keeps nothing of it in memory. */
export async function isBackup(path: string, signal: AbortSignal): Promise<boolean> {
  let head = "";
  const isWhole = await isWholeGzip(path, signal, (chunk) => {
    if (head.length < BEGINNING.length) head += chunk.toString("latin1", 0, BEGINNING.length);
  });
  return isWhole && head.startsWith(BEGINNING);
}
