import type { Database } from "../contracts/database.ts";
import { HEARTBEAT_S, STALLED_AFTER_S } from "./queue-policy.ts";
import { reclaimStalled, stalledJobs } from "./queue-records.ts";

/**
 * Takes up the running jobs of processes that were killed, which show no sign of life any more. One that was seen silent is
 * looked at twice, and between the looks a living process has the time for a sign: after a stall of the store, a jump of
 * its clock or a pause of the whole machine all jobs look silent.
 */

export interface StalledJobsDeps {
  readonly database: Database;
  /** Ids of the jobs that this process runs. */
  readonly running: () => readonly string[];
  /** Milliseconds that only go on. */
  readonly monotonic?: () => number;
}

/** Between two looks, in milliseconds. */
export const POLL_MS = 5_000;
const FIRST_POLL_S = STALLED_AFTER_S - POLL_MS / 1_000;
const HEARTBEAT_MS = HEARTBEAT_S * 1_000;

export class StalledJobs {
  readonly #deps: StalledJobsDeps;
  readonly #monotonic: () => number;
  /** Id and last sign of life of what was silent at the last look. */
  #seen: ReadonlyMap<string, string> = new Map();
  #seenAt = Number.NEGATIVE_INFINITY;
  #reclaiming = false;

  constructor(deps: StalledJobsDeps) {
    this.#deps = deps;
    this.#monotonic = deps.monotonic ?? (() => performance.now());
  }

  /** Answers how many jobs were taken up. Call it every POLL_MS; more often it does nothing. Rejects where the store is away. */
  async reclaim(): Promise<number> {
    if (this.#reclaiming || this.#monotonic() - this.#seenAt < HEARTBEAT_MS) return 0;
    this.#reclaiming = true;
    try {
      const { database, running } = this.#deps;
      const stalled = await stalledJobs(database, running(), FIRST_POLL_S);
      const gone = stalled.filter(({ id, heartbeat }) => this.#seen.get(id) === heartbeat);
      this.#seen = new Map(stalled.map(({ id, heartbeat }) => [id, heartbeat]));
      this.#seenAt = this.#monotonic();
      return await reclaimStalled(database, gone);
    } finally {
      this.#reclaiming = false;
    }
  }
}
