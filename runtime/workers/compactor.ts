/** Has conversations summarized at each tick of a timer. One job at a time for each node; nodes that share a store work side by side. */

import type { Compaction } from "../app/compaction/compaction.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { createJobTrigger } from "./job-trigger.ts";

export interface CompactorDeps {
  readonly compaction: Pick<Compaction, "run">;
  readonly jobs: Pick<JobQueue, "enqueue" | "work">;
  /** Names this process's job: one of a process that was killed counts as running for a while. */
  readonly boot: string;
  readonly intervalMs: number;
  readonly logger: Pick<Logger, "warn">;
}

export interface Compactor {
  start(): Promise<void>;
  /** Looks now, as at a tick. Returns at once and never throws. */
  wake(): void;
  stop(): void;
}

export function createCompactor({ compaction, jobs, boot, intervalMs, logger }: CompactorDeps): Compactor {
  const trigger = createJobTrigger({
    enqueue: () => jobs.enqueue(QUEUES.compact, {}, { key: `boot:${boot}` }),
    failure: "compaction could not be queued",
    logger,
  });
  let active = false;
  let ticks: NodeJS.Timeout | null = null;
  return {
    async start() {
      active = true;
      await jobs.work(QUEUES.compact, async ({ signal }) => void (await compaction.run(signal)));
      ticks = setInterval(() => void trigger.enqueueNow(), intervalMs);
      await trigger.enqueueNow();
    },
    wake() {
      if (active) void trigger.enqueueNow();
    },
    stop() {
      active = false;
      trigger.stop();
      if (ticks) clearInterval(ticks);
    },
  };
}
