import { expect, it, onTestFinished, vi } from "vitest";
import { endThread } from "../../../../runtime/plugins/shared/end-thread.ts";

it("asks a thread again that a request did not reach, and then no more", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const exited = Promise.withResolvers<number>();
  let requests = 0;
  const thread = {
    terminate: () => {
      requests += 1;
      if (requests === 3) exited.resolve(1);
      return exited.promise;
    },
  };
  const ended = endThread(thread);
  await vi.advanceTimersByTimeAsync(10_000);
  await ended;
  expect(requests).toBe(3);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(requests).toBe(3);
});
