/** Whether the disks have room for what a restore unpacks, each for what goes there. Looks, and changes nothing. */

import { stat, statfs } from "node:fs/promises";
import { sizeOf } from "../../doctor/context/store.ts";
import type { Obstacle } from "../../memory/obstacles.ts";
import { bytes as inWords } from "../../output/words.ts";
import { DIRECTORY, HOME, MEMORY, NODES, type Part } from "../manifest.ts";
import { parentOf, type RestorePaths, stagingOf, targetsOf } from "./places.ts";

export interface Need {
  /** Where it goes; need not be there yet. */
  readonly path: string;
  readonly bytes: number;
  readonly hint: string;
}

const ANOTHER_DIRECTORY = "Make room there, or name a directory elsewhere with --dir.";
const ANOTHER_HOME = "Make room there, or set SERVICE_HOME to a directory elsewhere.";

/**
 * At least: an embedded store takes more than its archive. `store`: its absolute path; null for a server, undefined where no memory is
 * restored, as of a deployed stack.
 */
export function neededRoom(places: RestorePaths, parts: readonly Part[], store: string | null | undefined): Need[] {
  const of = (name: string): number => parts.find((part) => part.name === name)?.bytes ?? 0;
  const hint = places.homeBelow === null ? ANOTHER_HOME : ANOTHER_DIRECTORY;
  const unpacked: Need[] = [
    { path: places.directory, bytes: of(DIRECTORY) + of(NODES) + of(MEMORY), hint: ANOTHER_DIRECTORY },
    { path: places.home, bytes: of(HOME), hint },
  ];
  if (store === undefined) return unpacked;
  // The node that restores it takes the archive into its home first.
  const memory: Need = { path: places.home, bytes: of(MEMORY), hint };
  return [...unpacked, memory, ...(store === null ? [] : [{ path: store, bytes: of(MEMORY), hint }])];
}

/** One for each disk that is too small. What a killed restore has left there is removed first, and counts as free. */
export async function ofRoom(needs: readonly Need[], places: RestorePaths): Promise<Obstacle[]> {
  const disks = new Map<number, { place: string; needed: number; hint: string; removable: number }>();
  for (const { path, bytes, hint } of needs) {
    const place = await parentOf(path);
    const { dev } = await stat(place);
    const { needed = 0, ...first } = disks.get(dev) ?? { place, hint, removable: 0 };
    disks.set(dev, { ...first, needed: needed + bytes });
  }
  for (const target of targetsOf(places)) {
    const disk = disks.get((await stat(await parentOf(target))).dev);
    if (disk !== undefined) disk.removable += await sizeOf(stagingOf(target));
  }
  const found: Obstacle[] = [];
  for (const { place, needed, hint, removable } of disks.values()) {
    const { bavail, bsize } = await statfs(place);
    const free = bavail * bsize + removable;
    if (free >= needed) continue;
    found.push({
      message: `The disk of ${place} has ${inWords(free)} free, and ${inWords(needed)} are to be unpacked.`,
      hint,
    });
  }
  return found;
}
