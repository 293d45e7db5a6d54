/** Room on the disk of the deployment directory: asked for before a change, and missed by files of ours. */

import { stat, statfs } from "node:fs/promises";
import { CairnError, InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import type { ExportedState } from "../engine/checkpoint.ts";
import type { InfraFiles } from "../files.ts";

/** A state is written beside the former one, and copied aside before and after; the engine and the log write as well. */
const STATE_TIMES = 8;
const LEAST_ROOM = 4 * 1024 * 1024;

/**
 * INFRA_DISK_FULL where the disk of the deployment directory has no room for the records of a change, before anything is changed.
 * The engine itself would write the part of its state that fits, put it in the place of the whole one, and try for half a minute
 * each time.
 */
export async function refuseWithoutRoom({ project, state }: InfraFiles, recorded: ExportedState | null): Promise<void> {
  const needed = Math.max(LEAST_ROOM, STATE_TIMES * JSON.stringify(recorded).length);
  for (const folder of [project, state]) {
    const there = await stat(folder).catch(() => null);
    if (there === null) continue;
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    if (free >= needed) continue;
    const [has, wants] = [free, needed].map((bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`);
    throw new InfraError(
      "INFRA_DISK_FULL",
      `The disk of ${folder} has ${has} of room, and the records of a change want ${wants}.`,
      { hint: "Make room, then run the same command again: nothing was changed." },
    );
  }
}

/** Whether a file of ours found no room, cairn.yaml as well. */
export function isFull(error: unknown): boolean {
  if (error instanceof CairnError && error.code === "CONFIG_UNWRITABLE") return isFull(error.cause);
  return ["ENOSPC", "EFBIG", "EDQUOT"].includes(codeOf(error) ?? "");
}
