import type { Database } from "../contracts/database.ts";
import { CairnError } from "../contracts/errors.ts";
import type { QueueName } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { type EndedJob, noteEnds } from "./queue-records.ts";

/**
 * Jobs of this process whose end could not be noted because the store was away. pg-boss gives such a job up after its
 * heartbeat; here its end is noted as soon as the store answers again. What failed for want of the store is tried again at
 * once, and that costs it no attempt.
 */

export interface UnacknowledgedJobsDeps {
  readonly database: Database;
  readonly logger: Pick<Logger, "warn" | "info">;
}

const RETRY_MS = 1_000;
/** More than the workers of a process can end while nothing is fetched, and before that is noticed. */
const MAX_TRACKED = 500;

export class UnacknowledgedJobs {
  readonly #deps: UnacknowledgedJobsDeps;
  readonly #ended = new Map<string, EndedJob>();
  #timer: NodeJS.Timeout | undefined;
  #noting = false;
  #active = true;
  #unavailableAt = Number.NEGATIVE_INFINITY;

  constructor(deps: UnacknowledgedJobsDeps) {
    this.#deps = deps;
  }

  /** Milliseconds for which the store has been answering, as far as the queue knows. */
  get steadyMs(): number {
    return performance.now() - this.#unavailableAt;
  }

  /** The handler of a job has ended; pg-boss is about to note it. */
  ended(queue: QueueName, id: string, attempt: number, outcome: EndedJob["outcome"], message: string | null): void {
    this.#ended.delete(id);
    this.#ended.set(id, { queue, id, attempt, outcome, message });
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_TRACKED) break;
      this.#ended.delete(oldest);
    }
    if (outcome === "unavailable") this.storeIsUnavailable();
  }

  /** It runs again: how it ended before is of no interest. */
  begun(id: string): void {
    this.#ended.delete(id);
  }

  /** A statement of the queue found the store away: what was to be noted then is noted when it is back. */
  storeIsUnavailable(): void {
    this.#unavailableAt = performance.now();
    if (this.#active) this.#timer ??= setTimeout(() => void this.#note(), RETRY_MS);
  }

  stop(): void {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #note(): Promise<void> {
    this.#timer = undefined;
    if (this.#noting) return;
    this.#noting = true;
    const ended = [...this.#ended.values()];
    try {
      const noted = await noteEnds(this.#deps.database, ended);
      for (const job of ended) if (this.#ended.get(job.id) === job) this.#ended.delete(job.id);
      if (noted > 0) this.#deps.logger.info({ jobs: noted }, "jobs that the store's absence had left open were ended");
    } catch (err) {
      if (err instanceof CairnError && err.retryable) {
        this.#deps.logger.warn({ err }, "jobs were left open: their ends are noted once the store is back");
        this.storeIsUnavailable();
      } else {
        // It would be refused again and again.
        for (const job of ended) if (this.#ended.get(job.id) === job) this.#ended.delete(job.id);
        this.#deps.logger.warn(
          { err, jobs: ended.length },
          "the ends of jobs could not be noted; their heartbeats end them",
        );
      }
    } finally {
      this.#noting = false;
    }
  }
}
