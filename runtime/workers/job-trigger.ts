/** Enqueues one job: once for many requests, and again until the queue has taken it. */

import type { Logger } from "../contracts/ports.ts";

export interface JobTriggerDeps {
  /** Queues the job; null where one with its key waits or runs already. */
  readonly enqueue: () => Promise<string | null>;
  /** For the log, such as "embedding could not be queued". */
  readonly failure: string;
  readonly logger: Pick<Logger, "warn">;
  /** Default 2 s. */
  readonly retryMs?: number;
}

export interface JobTrigger {
  /** In so many milliseconds. A running job may have read its work already: with `followMs` another one follows it. */
  schedule(inMs: number, followMs?: number): void;
  /** At once. Never rejects. */
  enqueueNow(followMs?: number): Promise<void>;
  /** Nothing is queued any more. */
  stop(): void;
}

/** While the queue is unavailable. */
const RETRY_MS = 2_000;

export function createJobTrigger({ enqueue, failure, logger, retryMs = RETRY_MS }: JobTriggerDeps): JobTrigger {
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | null = null;
  /** Of the requests that the queue has not answered yet. */
  let follow: number | undefined;
  let asking = false;
  let askedMeanwhile = false;

  function schedule(inMs: number, followMs?: number): void {
    if (stopped) return;
    follow = followMs ?? follow;
    timer ??= setTimeout(() => {
      timer = null;
      void enqueueNow();
    }, inMs);
  }

  async function enqueueNow(followMs?: number): Promise<void> {
    if (stopped) return;
    follow = followMs ?? follow;
    // One request to the queue at a time, even when it is slow.
    if (asking) {
      askedMeanwhile = true;
      return;
    }
    asking = true;
    const following = follow;
    follow = undefined;
    try {
      const id = await enqueue();
      failing = false;
      if (id === null && following !== undefined) schedule(following, following);
    } catch (err) {
      // Once for an outage.
      if (!failing) logger.warn({ err }, `${failure}; it is tried again until it is`);
      failing = true;
      schedule(retryMs, following);
    }
    asking = false;
    if (askedMeanwhile) schedule(0);
    askedMeanwhile = false;
  }

  return {
    schedule,
    enqueueNow,
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
