/** Room on the disk of the home directory: store, logs and payloads grow there. */

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { bytes } from "../../../output/words.ts";
import { type Check, fail, pass, warn } from "../check.ts";

const FAIL_BYTES = 200_000_000;
const WARN_BYTES = 1_000_000_000;

export const systemDisk: Check = {
  id: "system.disk",
  subject: "free space on the disk of the home directory",
  async run(context) {
    let at = context.home();
    while (at !== dirname(at) && (await stat(at).catch(() => null)) === null) at = dirname(at);
    const { freeBytes, totalBytes } = await context.machine.disk(at);
    const message = `The disk of ${at} has ${bytes(freeBytes)} of ${bytes(totalBytes)} left.`;
    const fix = "Free some space: old logs and backups first. A full disk stops the store.";
    if (freeBytes < FAIL_BYTES) return fail(message, fix);
    if (freeBytes < WARN_BYTES) return warn(message, fix);
    return pass(message);
  },
};
