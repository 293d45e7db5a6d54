import type { Logger } from "../contracts/ports.ts";

/** Owner of small work in the background: it starts after the caller's answer, and its failures are logged. */

export interface Background {
  /** Runs work soon, after what is going on now. At most `limit` wait or run at once; what comes on top is dropped. */
  run(name: string, work: () => Promise<unknown>): void;
  /** Resolves once nothing is left to do. */
  idle(): Promise<void>;
}

export function createBackground(logger: Pick<Logger, "warn">, limit = 1_000): Background {
  const tasks = new Set<Promise<void>>();

  async function guarded(name: string, work: () => Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error, task: name }, "Background work failed.");
    }
  }

  return {
    run(name, work) {
      if (tasks.size >= limit) {
        logger.warn({ task: name, waiting: tasks.size }, "Too much background work; this one is dropped.");
        return;
      }
      const task = guarded(name, work).finally(() => tasks.delete(task));
      tasks.add(task);
    },
    async idle() {
      while (tasks.size > 0) await Promise.all(tasks);
    },
  };
}
