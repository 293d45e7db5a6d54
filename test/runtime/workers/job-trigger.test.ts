import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createJobTrigger } from "../../../runtime/workers/job-trigger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function triggerOf(answers: (string | null | Error)[]) {
  const warn = vi.fn();
  const enqueue = vi.fn(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? "id";
  });
  return { enqueue, warn, trigger: createJobTrigger({ enqueue, failure: "it could not be queued", logger: { warn } }) };
}

it("enqueues one job for many triggers", async () => {
  const { trigger, enqueue } = triggerOf([]);
  for (let n = 0; n < 10; n += 1) trigger.schedule(100);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(1);
});

it("triggers again until a queue that was unavailable has taken the job, and logs that once", async () => {
  const unavailable = () => new Error("away");
  const { trigger, enqueue, warn } = triggerOf([
    unavailable(),
    unavailable(),
    unavailable(),
    "id",
    unavailable(),
    "id",
  ]);
  await trigger.enqueueNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(4);
  expect(warn).toHaveBeenCalledTimes(1);
  await trigger.enqueueNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(6);
  expect(warn).toHaveBeenCalledTimes(2);
});

it("follows a job that runs already, where that is asked for", async () => {
  const answers: (string | null)[] = [null, null, "id"];
  const enqueue = vi.fn(async () => answers.shift() ?? null);
  const trigger = createJobTrigger({ enqueue, failure: "", logger: { warn: vi.fn() } });
  trigger.schedule(100, 500);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(3);
  await trigger.enqueueNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(4);
});

it("follows a job that runs already also where that was asked for while it waited for the queue to come back", async () => {
  const answers: (string | null | Error)[] = [new Error("away"), null, "id"];
  const enqueue = vi.fn(async () => {
    const answer = answers.shift() ?? null;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const trigger = createJobTrigger({ enqueue, failure: "", logger: { warn: vi.fn() } });
  await trigger.enqueueNow();
  trigger.schedule(100, 500);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(3);
});

it("asks a queue that is slow once at a time, and once more for what was rung meanwhile", async () => {
  const slow = Promise.withResolvers<string>();
  const { trigger, enqueue } = triggerOf([]);
  enqueue.mockImplementationOnce(() => slow.promise);
  for (let n = 0; n < 50; n += 1) {
    trigger.schedule(100, 500);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(enqueue).toHaveBeenCalledTimes(1);
  slow.resolve("id");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(2);
});

it("queues nothing once it is stopped", async () => {
  const { trigger, enqueue } = triggerOf([new Error("away")]);
  await trigger.enqueueNow();
  trigger.schedule(10);
  trigger.stop();
  trigger.schedule(10);
  await trigger.enqueueNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(1);
});
