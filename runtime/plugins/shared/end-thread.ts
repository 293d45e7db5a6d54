/** Ends a thread that may be in the middle of anything. */

import type { Worker } from "node:worker_threads";

/** Between two requests, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Resolves once the thread has ended. A request that arrives while the thread is starting can be lost in Node (with 24.21 on a busy
 * machine about 2 of 100 in the first 300 ms): a thread that then works without end would go on, so it is asked until it is gone.
 */
export async function endThread(worker: Pick<Worker, "terminate">): Promise<void> {
  const again = setInterval(() => void worker.terminate(), AGAIN_MS);
  try {
    await worker.terminate();
  } finally {
    clearInterval(again);
  }
}
