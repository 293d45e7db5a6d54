/** Has words counted soon after rows were written, and now and then for what was missed. One job for the whole fleet. */

import { createTermCounter } from "../app/terms/terms.ts";
import type { Database } from "../contracts/database.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";

export interface TermCountingDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "work">;
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

const KEY = "words";
const INTERVAL_MS = 5 * 60_000;
/** Nobody waits for a count: rows that are written in these seconds are counted together. */
const WAKE_MS = 2_000;

export function createTermCounting(deps: TermCountingDeps): TermCounting {
  const { database, jobs, logger, intervalMs = INTERVAL_MS, wakeMs = WAKE_MS } = deps;
  const counter = createTermCounter(database);
  let active = false;
  let ticks: NodeJS.Timeout | null = null;
  let waking: NodeJS.Timeout | null = null;

  async function enqueue(): Promise<boolean> {
    try {
      return (await jobs.enqueue(QUEUES.enrich, {}, { key: KEY })) !== null;
    } catch (error) {
      logger.warn({ err: error }, "counting words could not be queued; the next tick tries again");
      return true;
    }
  }

  function wake(): void {
    if (!active || waking !== null) return;
    waking = setTimeout(async () => {
      const queued = await enqueue();
      waking = null;
      // The job that runs may have looked already: then another one follows it.
      if (!queued) wake();
    }, wakeMs);
  }

  return {
    async start() {
      active = true;
      await jobs.work(QUEUES.enrich, async ({ signal }) => void (await counter.run(signal)));
      ticks = setInterval(() => void enqueue(), intervalMs);
      await enqueue();
    },
    wake,
    stop() {
      active = false;
      if (ticks) clearInterval(ticks);
      if (waking) clearTimeout(waking);
    },
  };
}
