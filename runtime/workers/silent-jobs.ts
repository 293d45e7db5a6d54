import type { Database } from "../contracts/database.ts";
import { SIGN_OF_LIFE_S, SILENT_JOB_S } from "./queue-policy.ts";
import { reclaimSilent, silentJobs } from "./queue-records.ts";

/**
 * Takes up the running jobs of processes that were killed, which show no sign of life any more. One that was seen silent is
 * looked at twice, and between the looks a living process has the time for a sign: after a stall of the store, a jump of
 * its clock or a pause of the whole machine all jobs look silent.
 */

export interface SilentJobsDeps {
  readonly database: Database;
  /** Ids of the jobs that this process runs. */
  readonly running: () => readonly string[];
  /** Milliseconds that only go on. */
  readonly monotonic?: () => number;
}

/** Between two looks, in milliseconds. */
export const LOOK_MS = 5_000;
const FIRST_LOOK_S = SILENT_JOB_S - LOOK_MS / 1_000;
const TIME_FOR_A_SIGN_MS = SIGN_OF_LIFE_S * 1_000;

export class SilentJobs {
  readonly #deps: SilentJobsDeps;
  readonly #monotonic: () => number;
  /** Id and last sign of life of what was silent at the last look. */
  #seen: ReadonlyMap<string, string> = new Map();
  #seenAt = Number.NEGATIVE_INFINITY;
  #looking = false;

  constructor(deps: SilentJobsDeps) {
    this.#deps = deps;
    this.#monotonic = deps.monotonic ?? (() => performance.now());
  }

  /** Answers how many jobs were taken up. Call it every LOOK_MS; more often it does nothing. Rejects where the store is away. */
  async look(): Promise<number> {
    if (this.#looking || this.#monotonic() - this.#seenAt < TIME_FOR_A_SIGN_MS) return 0;
    this.#looking = true;
    try {
      const { database, running } = this.#deps;
      const silent = await silentJobs(database, running(), FIRST_LOOK_S);
      const gone = silent.filter(({ id, heartbeat }) => this.#seen.get(id) === heartbeat);
      this.#seen = new Map(silent.map(({ id, heartbeat }) => [id, heartbeat]));
      this.#seenAt = this.#monotonic();
      return await reclaimSilent(database, gone);
    } finally {
      this.#looking = false;
    }
  }
}
