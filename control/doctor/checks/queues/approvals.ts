/** Calls of tools that wait for the owner's word: their turns wait with them, and the calls are refused when their time is over. */

import { duration } from "../../../output/words.ts";
import { type Check, pass, skip, Unavailable, warn } from "../check.ts";

/** By then the message with the question was overlooked, or never arrived. */
const WARN_AGE_MS = 3_600_000;

export const queuesApprovals: Check = {
  id: "queues.approvals",
  subject: "calls that wait for the owner's word",
  async run(context) {
    const { approvals } = await context.health();
    if (approvals === undefined) return skip("The node is of a version that does not report approvals.");
    if (approvals === null) throw new Unavailable("The node's store does not answer.", ["database.reachable"]);
    const { waiting, oldest_waiting_ms: age } = approvals;
    if (waiting === 0 || age === null) return pass("No call waits for the owner's word.");
    const message = `${waiting === 1 ? "1 call waits" : `${waiting} calls wait`} for the owner's word, the oldest for ${duration(age)}.`;
    if (age < WARN_AGE_MS) return pass(message);
    return warn(message, "`cairn approvals list` shows them; `cairn approvals approve ID` and `deny ID` decide.");
  },
};
