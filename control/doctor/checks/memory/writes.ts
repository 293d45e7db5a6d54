/** When the memory was last written. */

import { duration } from "../../../output/words.ts";
import { type Check, pass, warn } from "../check.ts";

/** Clocks of two machines differ. */
const FUTURE_MS = 60_000;

export const memoryWrites: Check = {
  id: "memory.writes",
  subject: "when the memory was last written",
  async run(context) {
    const last = await context.lastMessage();
    if (last === null) return pass("The memory is empty so far.");
    const ago = Date.now() - last.getTime();
    if (ago < -FUTURE_MS) {
      return warn(
        `The newest message is dated ${duration(-ago)} in the future.`,
        "Set the clocks of all writers; messages keep the time that they were written with.",
      );
    }
    return pass(`The last message was stored ${duration(Math.max(0, ago))} ago.`);
  },
};
