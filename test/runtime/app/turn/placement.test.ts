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
