import type { Database } from "../contracts/database.ts";
import { MemoryError, toCairnError } from "../contracts/errors.ts";
import type {
  EnqueueOptions,
  Job,
  JobQueue,
  QueueName,
  QueueState,
  RetryFailedOptions,
  RetryFailedReport,
} from "../contracts/jobs.ts";
import type { Logger, NewId } from "../contracts/ports.ts";
import { sanitize } from "../domain/cap.ts";
import { bossDatabase, bossHandle } from "./queue-adapter.ts";
import { failedKeys, liveKeys, ownKey, queueStates, restoreJobs, retryFailed } from "./queue-records.ts";
import { QueueSupervisor, type WorkerSettings } from "./queue-supervisor.ts";
import { UnacknowledgedJobs } from "./unacknowledged-jobs.ts";

export interface JobQueueSettings {
  readonly database: Database;
  readonly logger: Logger;
  readonly newId: NewId;
}

const DEFAULT_POLL_S = 5;

/** A job that this process runs. */
interface Running {
  readonly attempt: number;
  readonly interruption: AbortController;
}

/** Jobs in the store itself, on either backend (pg-boss). Nothing runs before `start()`. */
export function createJobQueue(settings: JobQueueSettings): JobQueue {
  return new BossQueue(settings);
}

class BossQueue implements JobQueue {
  readonly #database: Database;
  readonly #newId: NewId;
  readonly #logger: Logger;
  readonly #supervisor: QueueSupervisor;
  readonly #running = new Map<string, Running>();
  readonly #unacknowledged: UnacknowledgedJobs;

  constructor({ database, logger, newId }: JobQueueSettings) {
    this.#database = database;
    this.#newId = newId;
    this.#logger = logger;
    const unacknowledged = new UnacknowledgedJobs({ database, logger });
    this.#unacknowledged = unacknowledged;
    this.#supervisor = new QueueSupervisor({
      database,
      adapter: bossDatabase(database, () => unacknowledged.storeIsUnavailable()),
      logger,
      unacknowledged,
      running: () => [...this.#running.keys()],
    });
  }

  async enqueue(queue: QueueName, data: object, options: EnqueueOptions = {}): Promise<string | null> {
    const boss = this.#boss();
    const { key, startAfterS, over } = options;
    return boss.send(queue, data, {
      singletonKey: key ?? ownKey(this.#newId()),
      ...(startAfterS === undefined ? {} : { startAfter: Math.ceil(startAfterS) }),
      ...(over ? { db: bossHandle(over) } : {}),
    });
  }

  async enqueueAll(queue: QueueName, jobs: Parameters<JobQueue["enqueueAll"]>[1]): Promise<number> {
    if (jobs.length === 0) return 0;
    const inserts = jobs.map(({ data, key }) => ({ data, singletonKey: key }));
    return (await this.#boss().insert(queue, inserts, { returnId: true }))?.length ?? 0;
  }

  async work<Data extends object>(
    queue: QueueName,
    handler: (job: Job<Data>) => Promise<void>,
    { concurrency = 1, pollS = DEFAULT_POLL_S }: { concurrency?: number; pollS?: number } = {},
  ): Promise<void> {
    const worker: WorkerSettings = {
      queue,
      concurrency,
      pollS,
      // What was enqueued under this queue's name has this queue's data.
      run: ({ id, data, attempt, lost }) => this.#run({ id, name: queue, data: data as Data }, attempt, lost, handler),
    };
    await this.#supervisor.add(worker);
  }

  states(): Promise<readonly QueueState[]> {
    return queueStates(this.#database);
  }

  retryFailed(queue: QueueName, options: RetryFailedOptions = {}): Promise<RetryFailedReport> {
    return retryFailed(this.#database, queue, options);
  }

  failedKeys(queue: QueueName): Promise<ReadonlySet<string>> {
    return failedKeys(this.#database, queue);
  }

  liveKeys(queue: QueueName): Promise<ReadonlySet<string>> {
    return liveKeys(this.#database, queue);
  }

  start(): Promise<void> {
    return this.#supervisor.start();
  }

  async stop(deadlineMs: number): Promise<void> {
    const deadline = setTimeout(() => void this.#interrupt(), deadlineMs);
    try {
      await this.#supervisor.stop(deadlineMs);
    } finally {
      clearTimeout(deadline);
      for (const { interruption } of this.#running.values()) interruption.abort(stopped());
    }
  }

  #boss(): NonNullable<QueueSupervisor["running"]> {
    const boss = this.#supervisor.running;
    if (!boss) throw new MemoryError("MEMORY_UNAVAILABLE", "The job queue is not running.");
    return boss;
  }

  async #run<Data extends object>(
    job: Omit<Job<Data>, "signal">,
    attempt: number,
    lost: AbortSignal,
    handler: (job: Job<Data>) => Promise<void>,
  ): Promise<void> {
    const interruption = new AbortController();
    const running = { attempt, interruption };
    this.#running.set(job.id, running);
    this.#unacknowledged.begun(job.id);
    try {
      await handler({ ...job, signal: AbortSignal.any([lost, interruption.signal]) });
      this.#unacknowledged.ended(job.name, job.id, attempt, "done", null);
    } catch (error) {
      this.#logger.warn({ err: error, queue: job.name, job: job.id }, "a job failed");
      const kept = reportable(error);
      const unavailable = toCairnError(error).code === "MEMORY_UNAVAILABLE";
      this.#unacknowledged.ended(job.name, job.id, attempt, unavailable ? "unavailable" : "failed", kept.message);
      throw kept;
    } finally {
      // Where the job was another worker's meanwhile, this process may be running it anew.
      if (this.#running.get(job.id) === running) this.#running.delete(job.id);
    }
  }

  /** First given back, then aborted: a job that its own abort makes fail has no claim left to fail on. */
  async #interrupt(): Promise<void> {
    const jobs = [...this.#running];
    if (jobs.length === 0) return;
    await restoreJobs(
      this.#database,
      jobs.map(([id, { attempt }]) => ({ id, attempt })),
    ).catch((err: unknown) => this.#logger.warn({ err }, "interrupted jobs will be retried later"));
    for (const [, { interruption }] of jobs) interruption.abort(stopped());
  }
}

function stopped(): MemoryError {
  return new MemoryError("MEMORY_UNAVAILABLE", "The job queue is stopping.");
}

/** What is kept with the job: its error's words, and nothing of what it holds (requests, headers, causes). */
function reportable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(sanitize(String(error)));
  const { code } = toCairnError(error);
  const kept = new Error(sanitize(error.message));
  kept.stack = "";
  return Object.assign(kept, { code });
}
