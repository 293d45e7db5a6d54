import { expect, it, vi } from "vitest";
import type { EnqueueOptions, Job, QueueName } from "../../../runtime/contracts/jobs.ts";
import { createCompactor } from "../../../runtime/workers/compactor.ts";

/** The timer and the job of the compactor; the job itself is proved with a real queue in a real node. */

function parts({ broken = false } = {}) {
  const enqueued: [QueueName, EnqueueOptions | undefined][] = [];
  const handlers: ((job: Job<object>) => Promise<void>)[] = [];
  const warn = vi.fn();
  const run = vi.fn(async () => ({ stored: { leaf: 0, branch: 0, root: 0 }, failed: 0, unavailable: null }));
  const compactor = createCompactor({
    compaction: { run },
    jobs: {
      async enqueue(queue, _data, options) {
        if (broken) throw new Error("the queue is away");
        enqueued.push([queue, options]);
        return "id";
      },
      async work(_queue, handler) {
        // The test's jobs have no data.
        handlers.push(handler as (job: Job<object>) => Promise<void>);
      },
    },
    boot: "b1",
    intervalMs: 300_000,
    logger: { warn },
  });
  return { compactor, enqueued, handlers, run, warn };
}

it("queues itself at the start, at every tick and when woken, under a key of this process", async () => {
  vi.useFakeTimers();
  try {
    const { compactor, enqueued } = parts();
    compactor.wake();
    expect(enqueued).toEqual([]);
    await compactor.start();
    await vi.advanceTimersByTimeAsync(600_000);
    compactor.wake();
    expect(enqueued).toEqual(Array(4).fill(["compact", { key: "boot:b1" }]));
    compactor.stop();
    compactor.wake();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(enqueued).toHaveLength(4);
  } finally {
    vi.useRealTimers();
  }
});

it("runs under the job's signal, and survives an unavailable queue", async () => {
  const { compactor, handlers, run, warn } = parts({ broken: true });
  await compactor.start();
  expect(warn).toHaveBeenCalledOnce();
  const { signal } = new AbortController();
  await handlers[0]?.({ id: "1", name: "compact", data: {}, signal });
  expect(run).toHaveBeenCalledWith(signal);
  compactor.stop();
});
