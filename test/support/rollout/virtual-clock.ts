/** Time that passes only from event to event, so that hours of a fleet take milliseconds, the same way each time. */

import { nextTick } from "node:process";
import { setImmediate } from "node:timers/promises";

/** Resolves when no promise is left that can go on without time: Node runs the next tick once that queue is empty. */
function everythingThatFollows(): Promise<void> {
  return new Promise((resolve) => nextTick(resolve));
}

interface Timer {
  readonly at: number;
  /** Of two at the same moment the one that was set first comes first. */
  readonly order: number;
  readonly run: () => void;
}

export class VirtualClock {
  /** Milliseconds since the beginning. */
  time = 0;
  readonly #timers: Timer[] = [];
  #order = 0;
  #woken = false;

  /** Runs `work` in `ms` milliseconds. It resolves no promise; what does that sleeps. */
  after(ms: number, run: () => void): void {
    this.#push({ at: this.time + ms, order: this.#order++, run });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#woken = true;
        reject(signal?.reason);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      this.after(ms, () => {
        this.#woken = true;
        signal?.removeEventListener("abort", abort);
        resolve();
      });
    });
  }

  /** Event after event until `isDone`, or none is left; `check` after each. */
  async run(isDone: () => boolean, check: () => void): Promise<void> {
    await setImmediate();
    while (!isDone()) {
      const next = this.#pop();
      if (next === undefined) return;
      this.time = next.at;
      next.run();
      if (this.#woken) await everythingThatFollows();
      this.#woken = false;
      check();
    }
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): Timer | undefined {
    const heap = this.#timers;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const child = 2 * at + 1;
      const least = this.#isBefore(child + 1, child) ? child + 1 : child;
      if (!this.#isBefore(least, at)) return first;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#timers[a], this.#timers[b]];
    if (one === undefined || other === undefined) return false;
    return one.at === other.at ? one.order < other.order : one.at < other.at;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#timers[a], this.#timers[b]];
    if (one === undefined || other === undefined) return;
    this.#timers[a] = other;
    this.#timers[b] = one;
  }
}
