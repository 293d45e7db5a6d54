import { expect, it, onTestFinished, vi } from "vitest";
import type { Agent } from "../../../../runtime/app/turn/agents.ts";
import { createPlacement } from "../../../../runtime/app/turn/placement.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

it("stops waiting for the lease of its identity when the node is told to stop meanwhile", async () => {
  const placement = createPlacement({
    agents: new Map(),
    // Somebody else holds everything.
    leases: { acquire: async () => null, release: async () => {} },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 600_000,
    clock: { now: () => new Date(0), monotonic: () => 0 },
    logger: quietLogger,
    onGained: () => {},
    onReturn: async () => undefined,
  });
  const stopping = new AbortController();
  const started = placement.start(stopping.signal);
  stopping.abort();
  await expect(started).rejects.toMatchObject({ name: "AbortError" });
  expect(placement.hosted()).toEqual([]);
  await placement.stop();
});

it("renews the lease of its identity and of its agents four times while they last", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const acquire = vi.fn(async () => 1);
  const placement = createPlacement({
    agents: new Map([["main", { name: "main" } as Agent]]),
    leases: { acquire, release: async () => {} },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 60_000,
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    logger: quietLogger,
    onGained: () => {},
    onReturn: async () => undefined,
  });
  await placement.start();
  acquire.mockClear();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(acquire.mock.calls).toEqual(
    Array(4)
      .fill([
        ["node:n", "b", 60_000, "p"],
        ["agent:main", "n", 60_000],
      ])
      .flat(),
  );
  expect(placement.hosted()).toEqual(["main"]);
  await placement.stop();
});

it("hosts nothing when its lease had run out and it must not go on, and goes on when it may", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const acquire = vi.fn(async (): Promise<number | null> => 1);
  const onReturn = vi.fn(async () => {
    throw new Error("the schema has changed");
  });
  const placement = createPlacement({
    agents: new Map([["main", { name: "main" } as Agent]]),
    leases: { acquire, release: async () => {} },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 60_000,
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    logger: quietLogger,
    onGained: () => {},
    onReturn,
  });
  await placement.start();
  acquire.mockRejectedValue(new Error("the database is away"));
  await vi.advanceTimersByTimeAsync(75_000);
  expect(placement.hosted()).toEqual([]);
  expect(onReturn).not.toHaveBeenCalled();
  acquire.mockReset().mockResolvedValue(1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onReturn).toHaveBeenCalledTimes(2);
  expect(placement.hosted()).toEqual([]);
  onReturn.mockReset().mockResolvedValue(undefined as never);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onReturn).toHaveBeenCalledTimes(1);
  expect(placement.hosted()).toEqual(["main"]);
  await placement.stop();
});
