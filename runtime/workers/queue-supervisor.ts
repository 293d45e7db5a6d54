import { type Db, PgBoss } from "pg-boss";
import type { Database } from "../contracts/database.ts";
import type { QueueName } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { HEARTBEAT_S, QUEUE_NAMES, STALLED_AFTER_S, settingsOf } from "./queue-policy.ts";
import { deleteFormerJobs, ensureIndex, reclaimJobs, sweepCompleted } from "./queue-records.ts";
import { POLL_MS, StalledJobs } from "./stalled-jobs.ts";
import type { UnacknowledgedJobs } from "./unacknowledged-jobs.ts";

/**
 * Keeps pg-boss running: starts it, starts it again when it or one of its workers has stopped, sweeps old jobs, and takes up
 * those of processes that were killed.
 */

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
const CHECK_MS = 15_000;
const SWEEP_MS = 3_600_000;
/** A worker that asked for nothing for this long, beyond its polling interval, and has no job, is dead. */
const STALLED_WORKER_MS = 120_000;

export interface FetchedJob {
  readonly id: string;
  readonly data: object;
  /** How often it has been tried before. */
  readonly attempt: number;
  /** Aborted when the job is no longer this worker's. */
  readonly lost: AbortSignal;
}

export interface WorkerSettings {
  readonly queue: QueueName;
  readonly concurrency: number;
  readonly pollS: number;
  readonly run: (job: FetchedJob) => Promise<void>;
}

export interface SupervisorSettings {
  readonly database: Database;
  readonly adapter: Db;
  readonly logger: Logger;
  readonly unacknowledged: UnacknowledgedJobs;
  /** Ids of the jobs that this process runs. */
  readonly running: () => readonly string[];
}

export class QueueSupervisor {
  readonly #settings: SupervisorSettings;
  readonly #stalled: StalledJobs;
  readonly #workers: WorkerSettings[] = [];
  #boss: PgBoss | undefined;
  #starting: Promise<void> | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #reclaimTimer: NodeJS.Timeout | undefined;
  #failures = 0;
  #reclaimed = false;
  #active = false;

  constructor(settings: SupervisorSettings) {
    this.#settings = settings;
    this.#stalled = new StalledJobs(settings);
  }

  /** pg-boss, while it runs. */
  get running(): PgBoss | undefined {
    return this.#boss;
  }

  async start(): Promise<void> {
    if (this.#active) return this.#starting;
    this.#active = true;
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS);
    this.#sweepTimer = setInterval(() => void this.#sweep(), SWEEP_MS);
    // The embedded store is single-process: jobs that its last process left are known at the start.
    if (this.#settings.database.backend === "postgres") {
      this.#reclaimTimer = setInterval(() => void this.#reclaim(), POLL_MS);
    }
    await this.#attempt();
  }

  /** Remembered for every later start as well. */
  async add(worker: WorkerSettings): Promise<void> {
    this.#workers.push(worker);
    if (this.#boss) await registerWorker(this.#boss, worker);
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#active = false;
    clearInterval(this.#checkTimer);
    clearInterval(this.#sweepTimer);
    clearInterval(this.#reclaimTimer);
    this.#settings.unacknowledged.stop();
    clearTimeout(this.#retryTimer);
    await this.#starting;
    const boss = this.#boss;
    this.#boss = undefined;
    // One second more: at the deadline the jobs' signals are aborted, and most handlers end then.
    await boss?.stop({ graceful: true, timeout: deadlineMs + 1_000 });
  }

  /** Never rejects: a failure is logged, and tried again later. */
  #attempt(): Promise<void> {
    this.#starting ??= this.#launch()
      .catch((err: unknown) => this.#again(err))
      .finally(() => {
        this.#starting = undefined;
      });
    return this.#starting;
  }

  async #launch(): Promise<void> {
    const { database, adapter, logger } = this.#settings;
    const embedded = database.backend === "embedded";
    const boss = new PgBoss({
      db: adapter,
      backend: embedded ? "pglite" : "postgres",
      schedule: false,
      useListenNotify: true,
      superviseIntervalSeconds: 30,
      // One process owns the embedded store and vacuums it; REINDEX CONCURRENTLY has no other session to be concurrent with.
      ...(embedded ? { reindex: false, monitorVacuum: false } : {}),
    });
    boss.on("error", (err) => logger.warn({ err }, "the job queue failed"));
    boss.on("warning", (warning) => logger.warn({ warning }, "the job queue warns"));
    try {
      await boss.start();
      await ensureQueues(boss);
      await ensureIndex(database);
      await deleteFormerJobs(database);
      await warmQueues(boss);
      // The embedded store is single-process, so jobs that are marked as running are stale.
      if (embedded && !this.#reclaimed) await reclaimJobs(database);
      this.#reclaimed = true;
      for (const worker of this.#workers) await registerWorker(boss, worker);
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => {});
      throw error;
    }
    if (!this.#active) return boss.stop({ graceful: false });
    boss.on("stopped", () => this.#lost(boss, "it has stopped"));
    this.#failures = 0;
    this.#boss = boss;
    void this.#sweep();
  }

  #again(err: unknown): void {
    if (!this.#active) return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#settings.logger.warn({ err, retryInMs: pause }, "the job queue could not be started");
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => void this.#attempt(), pause);
  }

  #check(): void {
    const boss = this.#boss;
    if (!boss) return;
    const stalledSince =
      Date.now() - STALLED_WORKER_MS - Math.max(0, ...this.#workers.map(({ pollS }) => pollS * 1_000));
    const dead = boss
      .getWipData()
      .find(
        ({ state, count, createdOn, lastFetchedOn, lastErrorOn }) =>
          state === "stopped" ||
          (count === 0 && Math.max(createdOn, lastFetchedOn ?? 0, lastErrorOn ?? 0) < stalledSince),
      );
    if (dead) this.#lost(boss, `the worker of ${dead.name} has stopped`);
  }

  #lost(boss: PgBoss, reason: string): void {
    if (this.#boss !== boss || !this.#active) return;
    this.#boss = undefined;
    this.#settings.logger.error({ reason }, "the job queue is started again");
    void boss
      .stop({ graceful: false })
      .catch(() => {})
      .then(() => this.#attempt());
  }

  /** While the store was unavailable no process could show that it lives: then they get the time to. */
  async #reclaim(): Promise<void> {
    const { unacknowledged, logger } = this.#settings;
    if (!this.#boss || unacknowledged.steadyMs < STALLED_AFTER_S * 1_000) return;
    try {
      const jobs = await this.#stalled.reclaim();
      if (jobs > 0) logger.warn({ jobs }, "jobs of a killed process were queued again");
    } catch (err) {
      unacknowledged.storeIsUnavailable();
      logger.warn({ err }, "stalled jobs of other processes could not be checked");
    }
  }

  async #sweep(): Promise<void> {
    if (!this.#boss) return;
    try {
      while ((await sweepCompleted(this.#settings.database)) > 0 && this.#active);
    } catch (err) {
      this.#settings.logger.warn({ err }, "completed jobs could not be swept");
    }
  }
}

async function ensureQueues(boss: PgBoss): Promise<void> {
  const there = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]));
  for (const name of QUEUE_NAMES) {
    const { policy, ...settings } = settingsOf(name);
    const existing = there.get(name);
    if (existing === undefined) await boss.createQueue(name, { policy, ...settings });
    else if (Object.entries(settings).some(([key, value]) => Reflect.get(existing, key) !== value)) {
      await boss.updateQueue(name, settings);
    }
  }
}

/** Once pg-boss knows a queue, enqueuing inside a caller's transaction needs no look outside of it. */
async function warmQueues(boss: PgBoss): Promise<void> {
  for (const name of QUEUE_NAMES) await boss.findJobs(name, { key: "", queued: true });
}

async function registerWorker(boss: PgBoss, settings: WorkerSettings): Promise<void> {
  for (let n = 0; n < settings.concurrency; n += 1) await registerOne(boss, settings);
}

async function registerOne(boss: PgBoss, { queue, pollS, run }: WorkerSettings): Promise<void> {
  const pollingIntervalSeconds = Math.max(0.5, pollS);
  const worker = await boss.work<object>(
    queue,
    // New jobs are notified; the poll finds those whose time has come, so it is no slower when notifications work.
    {
      pollingIntervalSeconds,
      notifyPollingIntervalSeconds: pollingIntervalSeconds,
      heartbeatRefreshSeconds: HEARTBEAT_S,
    },
    async (jobs) => {
      try {
        for (const job of jobs) {
          await run({ id: job.id, data: job.data, attempt: attemptOf(job), lost: job.signal });
        }
      } finally {
        // Where one job was another may wait: a backlog is worked off without a pause after each.
        boss.notifyWorker(worker);
      }
    },
  );
}

/** pg-boss ends a job by this number, too; its types leave it out. */
function attemptOf(job: object): number {
  const count: unknown = Reflect.get(job, "retryCount");
  return typeof count === "number" ? count : 0;
}
