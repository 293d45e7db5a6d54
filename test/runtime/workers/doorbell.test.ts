import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createDoorbell } from "../../../runtime/workers/doorbell.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function bellOf(answers: (string | null | Error)[]) {
  const warn = vi.fn();
  const enqueue = vi.fn(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? "id";
  });
  return { enqueue, warn, bell: createDoorbell({ enqueue, failure: "it could not be queued", logger: { warn } }) };
}

it("queues one job for many rings", async () => {
  const { bell, enqueue } = bellOf([]);
  for (let n = 0; n < 10; n += 1) bell.ring(100);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(1);
});

it("rings again until a queue that was away has taken the job, and says so once", async () => {
  const away = () => new Error("away");
  const { bell, enqueue, warn } = bellOf([away(), away(), away(), "id", away(), "id"]);
  await bell.ringNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(4);
  expect(warn).toHaveBeenCalledTimes(1);
  await bell.ringNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(6);
  expect(warn).toHaveBeenCalledTimes(2);
});

it("follows a job that runs already, where that is asked for", async () => {
  const answers: (string | null)[] = [null, null, "id"];
  const enqueue = vi.fn(async () => answers.shift() ?? null);
  const bell = createDoorbell({ enqueue, failure: "", logger: { warn: vi.fn() } });
  bell.ring(100, 500);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(3);
  await bell.ringNow();
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
  const bell = createDoorbell({ enqueue, failure: "", logger: { warn: vi.fn() } });
  await bell.ringNow();
  bell.ring(100, 500);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(3);
});

it("asks a queue that is slow once at a time, and once more for what was rung meanwhile", async () => {
  const slow = Promise.withResolvers<string>();
  const { bell, enqueue } = bellOf([]);
  enqueue.mockImplementationOnce(() => slow.promise);
  for (let n = 0; n < 50; n += 1) {
    bell.ring(100, 500);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(enqueue).toHaveBeenCalledTimes(1);
  slow.resolve("id");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(2);
});

it("queues nothing once it is stopped", async () => {
  const { bell, enqueue } = bellOf([new Error("away")]);
  await bell.ringNow();
  bell.ring(10);
  bell.stop();
  bell.ring(10);
  await bell.ringNow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(enqueue).toHaveBeenCalledTimes(1);
});
