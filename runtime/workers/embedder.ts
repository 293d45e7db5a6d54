/** Has rows embedded: at each tick of a timer, and soon after rows were written. One job at a time for each node. */

import type { Embedding } from "../app/embedding/embedding.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { createJobTrigger } from "./job-trigger.ts";

export interface EmbedderDeps {
  readonly embedding: Embedding;
  readonly jobs: Pick<JobQueue, "enqueue" | "work">;
  /** Names this process's job: nodes that share a store work beside each other, and one that was killed holds nobody up. */
  readonly node: string;
  readonly intervalMs: number;
  readonly logger: Pick<Logger, "warn">;
}

export interface Embedder {
  start(): Promise<void>;
  /** Rows were written. Returns at once and never throws. */
  wake(): void;
  stop(): void;
}

/** Rows that are written in quick succession are embedded together. */
const WAKE_MS = 100;
const FOLLOW_MS = 500;

export function createEmbedder({ embedding, jobs, node, intervalMs, logger }: EmbedderDeps): Embedder {
  const trigger = createJobTrigger({
    enqueue: () => jobs.enqueue(QUEUES.embed, {}, { key: `node:${node}` }),
    failure: "embedding could not be queued",
    logger,
  });
  let active = false;
  let ticks: NodeJS.Timeout | null = null;
  return {
    async start() {
      active = true;
      await jobs.work(QUEUES.embed, async ({ signal }) => void (await embedding.run(signal)));
      ticks = setInterval(() => void trigger.enqueueNow(), intervalMs);
      await trigger.enqueueNow();
    },
    wake() {
      if (active) trigger.schedule(WAKE_MS, FOLLOW_MS);
    },
    stop() {
      active = false;
      trigger.stop();
      if (ticks) clearInterval(ticks);
    },
  };
}
