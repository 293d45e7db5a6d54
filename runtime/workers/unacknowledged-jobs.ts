import type { Database } from "../contracts/database.ts";
import { CairnError } from "../contracts/errors.ts";
import type { QueueName } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { type EndedJob, noteEnds } from "./queue-records.ts";

/**
 * Jobs of this process whose end could not be recorded because the database was unreachable. pg-boss fails such a job after
 * its heartbeat; here its end is recorded as soon as the database answers again. A job that failed because the database was
 * unreachable is retried at once, and that costs no attempt.
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

  /** Milliseconds since the queue last found the database unreachable. */
  get steadyMs(): number {
    return performance.now() - this.#unavailableAt;
  }

  /** The handler of a job has ended; pg-boss is about to record it. */
  ended(queue: QueueName, id: string, attempt: number, outcome: EndedJob["outcome"], message: string | null): void {
    this.#ended.delete(id);
    this.#ended.set(id, { queue, id, attempt, outcome, message });
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_TRACKED) break;
      this.#ended.delete(oldest);
    }
    if (outcome === "unavailable") this.storeIsUnavailable();
  }

  /** It runs again, so its former end is obsolete. */
  begun(id: string): void {
    this.#ended.delete(id);
  }

  /** A statement of the queue found the database unreachable: ends are recorded once it answers again. */
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
      if (noted > 0)
        this.#deps.logger.info(
          { jobs: noted },
          "completed the jobs that had finished while the database was unreachable",
        );
    } catch (err) {
      if (err instanceof CairnError && err.retryable) {
        this.#deps.logger.warn(
          { err },
          "the ends of jobs could not be recorded; retried once the database is reachable",
        );
        this.storeIsUnavailable();
      } else {
        // It would be refused again and again.
        for (const job of ended) if (this.#ended.get(job.id) === job) this.#ended.delete(job.id);
        this.#deps.logger.warn(
          { err, jobs: ended.length },
          "the ends of jobs were refused; their heartbeats expire instead",
        );
      }
    } finally {
      this.#noting = false;
    }
  }
}
