/** Scheduled backups: whether the newest is recent enough, and why not. */

import { ageMs } from "../../../memory/backup-words.ts";
import { bytes, duration } from "../../../output/words.ts";
import { type Check, fail, pass, skip, Unavailable, warn } from "../check.ts";

export const memoryBackup: Check = {
  id: "memory.backup",
  subject: "scheduled backups of the memory",
  async run(context) {
    const { backup } = await context.health();
    if (backup === undefined) return skip("The node is of a version without scheduled backups.");
    if (backup === null) throw new Unavailable("The node's store does not answer.", ["database.reachable"]);
    const { state, last, failure, every_s: every, keep } = backup;
    const newest =
      last === null
        ? "There is none yet"
        : `The newest backup is ${duration(ageMs(last.created_at, backup))} old (${last.name} on ${last.node}, ${bytes(last.bytes)})`;
    switch (state) {
      case "off":
        return skip("Scheduled backups are switched off (memory.backup.enabled).");
      case "empty":
        return pass("The memory is empty: there is nothing to back up yet.");
      case "waiting":
        return pass("The first backup is taken soon after the start of the node.");
      case "late":
        return warn(
          `${newest}, and one is due every ${duration(every * 1_000)}.`,
          "A node has to be up for one to be taken; `cairn logs --grep backup` tells more.",
        );
      case "failing": {
        const since = duration(ageMs(failure?.since ?? "", backup));
        return fail(
          `Backups have been failing on ${failure?.node} for ${since}: ${failure?.message} ${newest}.`,
          failure?.hint ??
            "`cairn logs --grep backup` tells more. `cairn memory backup FILE` takes one here meanwhile.",
        );
      }
      default:
        return pass(`${newest}; the last ${keep} are kept.`);
    }
  },
};
