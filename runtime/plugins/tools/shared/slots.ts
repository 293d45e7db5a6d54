/** Work of which a few run at once and the others wait, in the order in which they came. */

export interface Slots {
  /** Rejects with the signal's reason when it aborts before there is a slot; `work` under way is not ended. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createSlots(most: number): Slots {
  let running = 0;
  const waiting = new Set<() => void>();

  async function acquire(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (running < most) {
      running += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      waiting.delete(resolve);
      reject(signal?.reason);
    };
    waiting.add(resolve);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      // Work that ends hands its slot on.
      await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      running -= 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  return {
    async run(work, signal) {
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
