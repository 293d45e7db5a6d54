/** Calls of a chat platform that are made again while it cannot be reached or asks for a pause: for what no database keeps until it is sent. */

import { setTimeout as sleep } from "node:timers/promises";
import type { CairnError } from "../../contracts/errors.ts";

export interface Retries {
  /** By `performance.now()`: no attempt begins later. */
  readonly endsAt: number;
  /** There is no further attempt once it aborts. */
  readonly signal: AbortSignal;
  /** What may be logged of a failure. One that is retryable is followed by another attempt, after the pause that it names. */
  failureOf(error: unknown): CairnError;
  /** What is sent twice is shown twice: there is another attempt only where the platform certainly has not taken the last one. */
  readonly onlyNotTaken?: true;
}

/** Milliseconds before the second attempt; each further pause is twice as long, up to the most. */
const PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 10_000;

/** Rejects with what `failureOf` makes of the last failure. */
export async function withRetries(work: () => Promise<unknown>, given: Retries): Promise<void> {
  const { endsAt, signal, failureOf, onlyNotTaken } = given;
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    try {
      await work();
      return;
    } catch (error) {
      const failure = failureOf(error);
      const waitMs = Math.max(pauseMs, (failure.details.retryAfterS ?? 0) * 1_000);
      if (!failure.retryable || (onlyNotTaken && !failure.details.notTaken)) throw failure;
      if (performance.now() + waitMs > endsAt) throw failure;
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw failure;
    }
  }
}
