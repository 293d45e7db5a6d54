/** Attempts to receive that have failed in a row: the pauses between them, by exponential backoff with jitter, and when they are too many. */

import { ExponentialBackoff, halfJitterGenerator } from "cockatiel";

/** Pauses between attempts in milliseconds; `maxRetries` of them in a row without success, and the channel counts as down. */
export interface Reconnect {
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
}

export interface FailedAttempts {
  /** In a row. */
  readonly count: number;
  readonly isDown: boolean;
  /** Before the next one: between half and the whole of `initialDelayMs`, which doubles up to `maxDelayMs`. */
  readonly pauseMs: number;
}

export class Reconnection {
  readonly #maxRetries: number;
  readonly #backoff: ReturnType<typeof backoffOf>;
  #pauses: ReturnType<ReturnType<typeof backoffOf>["next"]>;
  #count = 0;

  constructor(reconnect: Reconnect) {
    this.#maxRetries = reconnect.maxRetries;
    this.#backoff = backoffOf(reconnect);
    this.#pauses = this.#backoff.next();
  }

  /** What failed before counts no more. */
  connected(): void {
    this.#count = 0;
    this.#pauses = this.#backoff.next();
  }

  failed(): FailedAttempts {
    const count = ++this.#count;
    const pauseMs = this.#pauses.duration;
    this.#pauses = this.#pauses.next({});
    return { count, isDown: count > this.#maxRetries, pauseMs };
  }
}

function backoffOf({ initialDelayMs: initialDelay, maxDelayMs: maxDelay }: Reconnect) {
  return new ExponentialBackoff({ generator: halfJitterGenerator, initialDelay, maxDelay });
}
