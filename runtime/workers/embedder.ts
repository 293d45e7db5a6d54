/** Has rows embedded: at each tick of a timer, and soon after rows were written. One job at a time for each node. */

import type { Embedding } from "../app/embedding/embedding.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";

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
/** A job that runs may have looked already: then another one follows it. */
const FOLLOW_MS = 500;

export function createEmbedder({ embedding, jobs, node, intervalMs, logger }: EmbedderDeps): Embedder {
  let active = false;
  let ticks: NodeJS.Timeout | null = null;
  let waking: NodeJS.Timeout | null = null;

  async function enqueue(): Promise<boolean> {
    try {
      return (await jobs.enqueue(QUEUES.embed, {}, { key: `node:${node}` })) !== null;
    } catch (error) {
      logger.warn({ err: error }, "embedding could not be queued; the next tick tries again");
      return true;
    }
  }

  function wakeIn(ms: number): void {
    if (!active || waking !== null) return;
    waking = setTimeout(async () => {
      const queued = await enqueue();
      waking = null;
      if (!queued) wakeIn(FOLLOW_MS);
    }, ms);
  }

  return {
    async start() {
      active = true;
      await jobs.work(QUEUES.embed, async ({ signal }) => void (await embedding.run(signal)));
      ticks = setInterval(() => void enqueue(), intervalMs);
      await enqueue();
    },
    wake: () => wakeIn(WAKE_MS),
    stop() {
      active = false;
      if (ticks) clearInterval(ticks);
      if (waking) clearTimeout(waking);
    },
  };
}
