/** A disk without room. */

import { spawnSync } from "node:child_process";
import { appendFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

const MIB = 1024 ** 2;
const fillerOf = (disk: string): string => join(disk, "filler");

/** Bytes that are left on a disk. */
export function roomOn(disk: string): number {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

/** To the last page, or so that this many bytes are left. `disk`: a directory on it. */
export function fillDisk(disk: string, room: number): void {
  const file = fillerOf(disk);
  const remaining = roomOn(disk) - room;
  if (remaining > 0) spawnSync("fallocate", ["--length", String(remaining), file]);
  if (room > 0) return;
  // The last page of it, too: a small file fits where a large block does not.
  for (const size of [MIB, 512]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(size));
    } catch {
      // Full.
    }
  }
}

/** Takes away what `fillDisk` wrote. */
export function emptyDisk(disk: string): void {
  rmSync(fillerOf(disk), { force: true });
}
