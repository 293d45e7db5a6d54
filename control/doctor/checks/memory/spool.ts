/** What capture clients could not deliver and keep as files: waiting, or refused for good. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { duration } from "../../../output/words.ts";
import { startCommand } from "../advice.ts";
import { type Check, pass, skip, warn } from "../check.ts";

const DAY_MS = 86_400_000;

export const memorySpool: Check = {
  id: "memory.spool",
  subject: "captured sessions that were not delivered",
  async run(context) {
    const spool = join(context.home(), "spool");
    const waiting = await filesIn(spool);
    if (waiting === null) return skip("Nothing was ever spooled.");
    const dead = (await filesIn(join(spool, "dead"))) ?? [];
    if (dead.length > 0) {
      return warn(
        `${dead.length} captured ${dead.length === 1 ? "batch was" : "batches were"} refused by the node.`,
        `The reason stands in each file of ${join(spool, "dead")}. \`cairn capture flush --dead\` tries them again; what is of no use may be deleted.`,
      );
    }
    const times = await Promise.all(
      waiting.map((path) =>
        stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => Date.now(),
        ),
      ),
    );
    const oldest = Math.max(0, Date.now() - Math.min(Date.now(), ...times));
    if (oldest > DAY_MS) {
      return warn(
        `${waiting.length} captured batches wait to be delivered, the oldest for ${duration(oldest)}.`,
        `See that a node runs (${await startCommand(context)} starts one), then deliver them with \`cairn capture flush\`.`,
      );
    }
    return pass(waiting.length === 0 ? "No captured batch waits." : `${waiting.length} captured batches wait.`);
  },
};

/** Null when the directory is not there. */
async function filesIn(path: string): Promise<string[] | null> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => null);
  return entries?.filter((entry) => entry.isFile()).map(({ name }) => join(path, name)) ?? null;
}
