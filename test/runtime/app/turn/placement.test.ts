import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LeaseTable } from "../../../../runtime/app/leases.ts";
import type { Agent } from "../../../../runtime/app/turn/agents.ts";
import { createPlacement } from "../../../../runtime/app/turn/placement.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

it("stops waiting for the lease of its identity when the node is told to stop meanwhile", async () => {
  const placement = createPlacement({
    agents: new Map(),
    // Somebody else holds everything.
    leases: { acquire: async () => null, release: async () => {}, held: async () => [] },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 600_000,
    clock: { now: () => new Date(0), monotonic: () => 0 },
    logger: quietLogger,
    onGained: () => {},
    onReturn: async () => undefined,
    announceRelease: async () => {},
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
    leases: { acquire, release: async () => {}, held: async () => [] },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 60_000,
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    logger: quietLogger,
    onGained: () => {},
    onReturn: async () => undefined,
    announceRelease: async () => {},
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
    leases: { acquire, release: async () => {}, held: async () => [] },
    node: { id: "n", name: "n" },
    boot: "b",
    place: "p",
    leaseMs: 60_000,
    clock: { now: () => new Date(), monotonic: () => performance.now() },
    logger: quietLogger,
    onGained: () => {},
    announceRelease: async () => {},
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

describe("a drained node", () => {
  /** Leases that nobody else wants; `renewal` holds the answer to a renewal of an agent's. */
  async function drained(agents: readonly string[]) {
    const calls: string[] = [];
    let renewal: Promise<unknown> = Promise.resolve();
    const leases: Pick<LeaseTable, "acquire" | "release" | "held"> = {
      async acquire(name) {
        if (name.startsWith("agent:")) {
          calls.push(`asks for ${name}`);
          await renewal;
        }
        return 1;
      },
      async release(name) {
        calls.push(`gives ${name} back`);
      },
      held: async () => ["node:n", "node:other"],
    };
    const placement = createPlacement({
      agents: new Map(agents.map((name) => [name, { name } as Agent])),
      leases,
      node: { id: "n", name: "n" },
      boot: "b",
      place: "p",
      leaseMs: 3_600_000,
      clock: { now: () => new Date(), monotonic: () => performance.now() },
      logger: quietLogger,
      onGained: () => {},
      announceRelease: async () => void calls.push("tells the others"),
      onReturn: async () => undefined,
    });
    await placement.start();
    onTestFinished(() => placement.stop());
    return { placement, calls, hold: (until: Promise<unknown>) => (renewal = until) };
  }

  it("gives each agent back after its turns, and tells the others once for those that go together", async () => {
    const { placement, calls } = await drained(["a", "b", "c"]);
    calls.length = 0;
    const turns = Promise.withResolvers<void>();
    const done = placement.handOver(async (agent) => {
      if (agent === "c") await turns.promise;
    });
    await expect.poll(() => placement.hosted()).toEqual(["c"]);
    placement.renewNow();
    await expect
      .poll(() => calls)
      .toEqual(["gives agent:a back", "gives agent:b back", "tells the others", "asks for agent:c"]);
    calls.length = 0;
    turns.resolve();
    await done;
    expect(placement.hosted()).toEqual([]);
    expect(calls).toEqual(["gives agent:c back", "tells the others"]);
    expect(await placement.hasPeers()).toBe(true);
  });

  it("gives back also what a renewal under way brings, and hosts nothing meanwhile", async () => {
    const { placement, calls, hold } = await drained(["a"]);
    const answer = Promise.withResolvers<void>();
    hold(answer.promise);
    calls.length = 0;
    placement.renewNow();
    await expect.poll(() => calls).toContain("asks for agent:a");
    const done = placement.handOver(async () => undefined);
    await expect.poll(() => placement.hosted()).toEqual([]);
    answer.resolve();
    await done;
    expect(placement.hosted()).toEqual([]);
    expect(calls).toEqual(["asks for agent:a", "gives agent:a back", "tells the others"]);
  });

  it("keeps an agent whose turn ends after the node was resumed", async () => {
    const { placement, calls } = await drained(["a"]);
    const turn = Promise.withResolvers<void>();
    const done = placement.handOver(() => turn.promise);
    placement.takeBack();
    turn.resolve();
    await done;
    expect(placement.hosted()).toEqual(["a"]);
    expect(calls).not.toContain("gives agent:a back");
  });
});
