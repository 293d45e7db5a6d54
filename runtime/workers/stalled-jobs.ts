import type { Database } from "../contracts/database.ts";
import { HEARTBEAT_S, STALLED_AFTER_S } from "./queue-policy.ts";
import { reclaimStalled, stalledJobs } from "./queue-records.ts";

/**
 * Reclaims the running jobs of processes that were killed, which send no heartbeat any more. A stalled job is read twice, and
 * between the reads a living process has the time for a heartbeat: after a stall of the database, a jump of its clock or a
 * pause of the whole machine all jobs look stalled.
 */

export interface StalledJobsDeps {
  readonly database: Database;
  /** Ids of the jobs that this process runs. */
  readonly running: () => readonly string[];
  /** Milliseconds that only go on. */
  readonly monotonic?: () => number;
}

/** Poll interval, in milliseconds. */
export const POLL_MS = 5_000;
const FIRST_POLL_S = STALLED_AFTER_S - POLL_MS / 1_000;
const HEARTBEAT_MS = HEARTBEAT_S * 1_000;

export class StalledJobs {
  readonly #deps: StalledJobsDeps;
  readonly #monotonic: () => number;
  /** Id and last heartbeat of the jobs that were stalled at the last poll. */
  #seen: ReadonlyMap<string, string> = new Map();
  #seenAt = Number.NEGATIVE_INFINITY;
  #reclaiming = false;

  constructor(deps: StalledJobsDeps) {
    this.#deps = deps;
    this.#monotonic = deps.monotonic ?? (() => performance.now());
  }

  /** Resolves to the number of reclaimed jobs. Call it every POLL_MS; more often it does nothing. Rejects where the database is
   * unreachable. */
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
