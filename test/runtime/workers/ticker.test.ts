/** A ticker runs at its start, at each interval and when it is notified, once at a time, and again until it succeeds. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTicker, createTickers } from "../../../runtime/workers/ticker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR = 3_600_000;

function parts(run: (signal: AbortSignal) => Promise<unknown> = async () => undefined) {
  const warn = vi.fn();
  const ran = vi.fn(run);
  const ticker = createTicker({ name: "embed", run: ran, intervalMs: HOUR, gatherMs: 100, logger: { warn } });
  return { ticker, ran, warn };
}

it("runs at the start and at each interval, and not before its start or after its stop", async () => {
  const { ticker, ran } = parts();
  ticker.notify();
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(ran).not.toHaveBeenCalled();
  ticker.start();
  await vi.advanceTimersByTimeAsync(2 * HOUR + 10);
  expect(ran).toHaveBeenCalledTimes(3);
  expect(ticker.state()).toMatchObject({ completed: 3, waiting: 0, active: 0 });
  await ticker.stop();
  ticker.notify();
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect(ran).toHaveBeenCalledTimes(3);
});

it("runs once for many notifications, and once more for those that come while it runs", async () => {
  const gates: (() => void)[] = [];
  const { ticker, ran } = parts(() => new Promise<void>((resolve) => gates.push(resolve)));
  ticker.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(ticker.state()).toMatchObject({ active: 1 });
  for (let n = 0; n < 5; n += 1) ticker.notify();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ran).toHaveBeenCalledTimes(1);
  gates[0]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(ran).toHaveBeenCalledTimes(2);
  gates[1]?.();
  await vi.advanceTimersByTimeAsync(HOUR / 2);
  expect(ran).toHaveBeenCalledTimes(2);
});

it("runs again until it succeeds, with growing pauses, warns once, and says since when it has failed", async () => {
  let broken = true;
  const { ticker, ran, warn } = parts(async () => {
    if (broken) throw new Error("the store is unavailable");
  });
  ticker.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(ticker.state()).toMatchObject({ waiting: 1, last_error: "the store is unavailable", oldest_waiting_ms: 0 });
  // After 2, 4, 8, 16 and 32 s, and then once a minute; a notification makes it no sooner.
  ticker.notify();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(ran).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(62_001);
  expect(ran).toHaveBeenCalledTimes(6);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(ran).toHaveBeenCalledTimes(8);
  expect(ticker.state()).toMatchObject({ waiting: 1, oldest_waiting_ms: 184_000 });
  expect(warn).toHaveBeenCalledOnce();
  broken = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ticker.state()).toMatchObject({ waiting: 0, last_error: null, oldest_waiting_ms: null, completed: 1 });
});

it("aborts its run when it stops, and waits for its end, but not for ever", async () => {
  vi.useRealTimers();
  const steps: string[] = [];
  const { ticker, warn } = parts(async (signal) => {
    steps.push("begun");
    await sleep(HOUR, undefined, { signal }).catch(() => undefined);
    await sleep(20);
    steps.push("ended");
    throw signal.reason;
  });
  ticker.start();
  await vi.waitFor(() => expect(steps).toEqual(["begun"]));
  await ticker.stop();
  expect(steps).toEqual(["begun", "ended"]);
  expect(warn).not.toHaveBeenCalled();
  const deaf = createTicker({ name: "embed", run: () => new Promise(() => {}), intervalMs: HOUR, logger: { warn } });
  deaf.start();
  await vi.waitFor(() => expect(deaf.state().active).toBe(1));
  await deaf.stop();
  expect(deaf.state().active).toBe(1);
});

it("is shown under its name, and idle where the node has none", async () => {
  const tickers = createTickers();
  const run = () => Promise.reject(new Error("odd"));
  tickers.add({ name: "compact", run, intervalMs: HOUR, logger: { warn: vi.fn() } }).start();
  await vi.advanceTimersByTimeAsync(0);
  expect(tickers.states().map(({ queue, waiting, last_error }) => [queue, waiting, last_error])).toEqual([
    ["embed", 0, null],
    ["compact", 1, "odd"],
    ["enrich", 0, null],
    ["housekeeping", 0, null],
  ]);
});
