/** Bursts of writing with pauses between them, in which what works in the background can catch up. */

import { setTimeout as sleep } from "node:timers/promises";

export interface Phases {
  /** Resolves at once during a burst, else when the next one begins, or when there will be none. */
  burst(): Promise<void>;
  /** Alternates until told to end; `onPauseEnd` is waited for. */
  run(until: AbortSignal, onPauseEnd: () => Promise<void>): Promise<void>;
}

export function createPhases(burstMs: number, pauseMs: number): Phases {
  let gate = Promise.withResolvers<void>();
  const pass = (ms: number, until: AbortSignal) => sleep(ms, undefined, { signal: until }).catch(() => undefined);
  return {
    burst: () => gate.promise,
    async run(until, onPauseEnd) {
      try {
        while (!until.aborted) {
          gate.resolve();
          await pass(burstMs, until);
          if (until.aborted) return;
          gate = Promise.withResolvers();
          await pass(pauseMs, until);
          if (!until.aborted) await onPauseEnd();
        }
      } finally {
        gate.resolve();
      }
    },
  };
}
