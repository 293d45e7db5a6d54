import { setTimeout as sleep } from "node:timers/promises";
import { EVENTUALLY_MS } from "../lanes/patience.ts";

const PAUSE_MS = 20;

/** Resolves to what `look` returns once it neither throws nor rejects; rejects with its last error when it never does. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + EVENTUALLY_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/** Resolves once `look` returns something truthy. Rejects when it never does, or when `look` throws. */
export async function until(check: () => unknown): Promise<void> {
  const deadline = performance.now() + EVENTUALLY_MS;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`It has not come about within ${EVENTUALLY_MS / 1_000} s.`);
    await sleep(PAUSE_MS);
  }
}
