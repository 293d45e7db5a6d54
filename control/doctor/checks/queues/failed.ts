/** Jobs that have failed for good. */

import { type Check, pass, warn } from "../check.ts";
import { queueStates } from "./states.ts";

export const queuesFailed: Check = {
  id: "queues.failed",
  subject: "jobs that failed for good",
  async run(context) {
    const bad = (await queueStates(context)).filter(({ failed }) => failed > 0);
    if (bad.length === 0) return pass("No job has failed for good.");
    const [first] = bad;
    return warn(
      `Jobs have failed for good: ${bad.map(({ queue, failed }) => `${failed} in ${queue}`).join(", ")}.`,
      `Fix the cause that their errors name, then \`cairn memory retry-failed --task ${first?.queue}\`.`,
      { details: bad.map(({ queue, last_error }) => `${queue}: ${last_error ?? "no error is known"}`) },
    );
  },
};
