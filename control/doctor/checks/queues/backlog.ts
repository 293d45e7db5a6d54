/** Jobs that wait: their number, and on a server how long the oldest has waited beyond its time. */

import { duration } from "../../../output/words.ts";
import { connectionOf } from "../../scene/database.ts";
import { askPostgres } from "../../scene/postgres.ts";
import type { Scene } from "../../scene/scene.ts";
import { type Check, pass, Unavailable, warn } from "../check.ts";
import { queueStates } from "./states.ts";

const WARN_WAITING = 10_000;
const WARN_AGE_MS = 3_600_000;

/** pg-boss's own table, by the columns that its documentation names. */
const OLDEST = `select (extract(epoch from now() - min(greatest(created_on, start_after))) * 1000)::float8 as age
  from pgboss.job where state in ('created', 'retry') and start_after <= now()`;

export const queuesBacklog: Check = {
  id: "queues.backlog",
  subject: "jobs that wait",
  async run(scene, signal) {
    const waiting = (await queueStates(scene)).filter((state) => state.waiting > 0);
    const total = waiting.reduce((sum, state) => sum + state.waiting, 0);
    const age = total === 0 ? null : await ageOfOldest(scene, signal);
    const old = age === null ? "" : `, the oldest for ${duration(age)}`;
    const message = total === 0 ? "No job waits." : `${total} jobs wait${old}.`;
    if (total < WARN_WAITING && (age ?? 0) < WARN_AGE_MS) return pass(message);
    return warn(
      message,
      "Look at `cairn memory stats` and `cairn logs --level warn`: a worker may be stuck or too slow.",
      {
        details: waiting.map((state) => `${state.queue}: ${state.waiting}`),
      },
    );
  },
};

/** Milliseconds; null where it cannot be known: the embedded store tells its node alone. */
async function ageOfOldest(scene: Scene, signal: AbortSignal): Promise<number | null> {
  try {
    const url = await connectionOf(await scene.config(), await scene.database());
    const [row] = await askPostgres<{ readonly age: number | null }>(url, OLDEST, { lookMs: scene.lookMs, signal });
    return row?.age ?? null;
  } catch (error) {
    if (error instanceof Unavailable || (error instanceof Error && "code" in error)) return null;
    throw error;
  }
}
