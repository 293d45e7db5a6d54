/**
 * Has words counted soon after rows were written, and now and then for what was missed. Each node has a job of its own, and
 * one of them counts: the others look again in a moment, so that one that is killed is followed at once.
 */

import { createTermCounter } from "../app/terms/terms.ts";
import type { Database } from "../contracts/database.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { createJobTrigger } from "./job-trigger.ts";

export interface TermCountingDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "work">;
  /** Names this process's job: one of a process that was killed holds nobody up. */
  readonly boot: string;
  readonly logger: Pick<Logger, "warn">;
  /** Default 5 min. */
  readonly intervalMs?: number;
  /** From a write to its job; default 2 s. */
  readonly wakeMs?: number;
}

export interface TermCounting {
  start(): Promise<void>;
  /** Rows were written. Returns at once and never throws. */
  wake(): void;
  stop(): void;
}

const INTERVAL_MS = 5 * 60_000;
/** Nobody waits for a count: rows that are written in these seconds are counted together. */
const WAKE_MS = 2_000;

export function createTermCounting(deps: TermCountingDeps): TermCounting {
  const { database, jobs, boot, logger, intervalMs = INTERVAL_MS, wakeMs = WAKE_MS } = deps;
  const counter = createTermCounter(database);
  const trigger = createJobTrigger({
    enqueue: () => jobs.enqueue(QUEUES.enrich, {}, { key: `boot:${boot}` }),
    failure: "counting words could not be queued",
    logger,
  });
  let active = false;
  let ticks: NodeJS.Timeout | null = null;

  function wake(): void {
    if (active) trigger.schedule(wakeMs, wakeMs);
  }

  return {
    async start() {
      active = true;
      await jobs.work(QUEUES.enrich, async ({ signal }) => void (await counter.run(signal, wake)));
      ticks = setInterval(() => void trigger.enqueueNow(), intervalMs);
      await trigger.enqueueNow();
    },
    wake,
    stop() {
      active = false;
      trigger.stop();
      if (ticks) clearInterval(ticks);
    },
  };
}
