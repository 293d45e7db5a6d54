/** Jobs that wait: their number, and how long the oldest has waited beyond its time. */

import { duration } from "../../../output/words.ts";
import { type Check, pass, warn } from "../check.ts";
import { workerSnapshot } from "../memory/workers.ts";
import { queueStates } from "./states.ts";

const WARN_WAITING = 10_000;
const WARN_AGE_MS = 3_600_000;

export const queuesBacklog: Check = {
  id: "queues.backlog",
  subject: "jobs that wait",
  async run(context) {
    // Without a model they wait by intention, and `memory.synthesis` says so.
    const off = (await workerSnapshot(context, "synthesis"))?.state === "off";
    const waiting = (await queueStates(context)).filter(
      ({ queue, waiting }) => waiting > 0 && !(off && queue === "synthesize-tool-call"),
    );
    const total = waiting.reduce((sum, state) => sum + state.waiting, 0);
    const age = Math.max(0, ...waiting.map(({ oldest_waiting_ms }) => oldest_waiting_ms ?? 0));
    const old = age === 0 ? "" : `, the oldest for ${duration(age)}`;
    const message = total === 0 ? "No job waits." : `${total} ${total === 1 ? "job waits" : "jobs wait"}${old}.`;
    if (total < WARN_WAITING && age < WARN_AGE_MS) return pass(message);
    return warn(
      message,
      "Look at `cairn memory queue-status` and `cairn logs --level warn`: a worker may be stuck or too slow.",
      {
        details: waiting.map(
          ({ queue, waiting, last_error }) => `${queue}: ${waiting}${last_error === null ? "" : `, ${last_error}`}`,
        ),
      },
    );
  },
};
