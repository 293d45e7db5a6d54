import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLifecycle } from "../../../runtime/host/lifecycle.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function running(hasPeers: () => Promise<boolean> = async () => false, drainDeadlineMs = 60_000) {
  const resumed: string[] = [];
  const dispatcher = { activeTurns: 0, drain: async () => undefined, resume: () => resumed.push("resumed") };
  const changes: boolean[] = [];
  const lifecycle = createLifecycle({
    dispatcher: () => dispatcher as never,
    hasPeers,
    drainDeadlineMs,
    stopping: new AbortController().signal,
    logger: quietLogger,
    onChange: () => changes.push(lifecycle.draining),
  });
  const service = lifecycle.service({});
  void service.start?.(new AbortController().signal);
  return { lifecycle, service, resumed, changes };
}

describe("a node that is drained for a while", () => {
  it("accepts messages again by itself when the time is over", async () => {
    const { lifecycle, resumed } = running();
    await lifecycle.drain(undefined, 5_000);
    vi.advanceTimersByTime(4_999);
    expect([lifecycle.draining, resumed]).toEqual([true, []]);
    vi.advanceTimersByTime(1);
    expect([lifecycle.draining, resumed]).toEqual([false, ["resumed"]]);
  });

  it("is not resumed twice, and not after a drain without an end", async () => {
    const { lifecycle, resumed, changes } = running();
    await lifecycle.drain(undefined, 5_000);
    await lifecycle.resume();
    await lifecycle.drain();
    vi.advanceTimersByTime(10_000);
    expect([lifecycle.draining, resumed]).toEqual([true, ["resumed"]]);
    // Whoever keeps the registry hears of each.
    expect(changes).toEqual([true, false, true]);
  });
});

describe("a node that stops", () => {
  const SECONDS = 5;

  /** Whether what others see of it may be closed, and how many seconds after. */
  async function closesAfter(lifecycle: ReturnType<typeof running>["lifecycle"]): Promise<number> {
    let closes = false;
    void Promise.resolve(lifecycle.notice.drain?.()).then(() => {
      closes = true;
    });
    for (let seconds = 0; seconds <= 2 * SECONDS; seconds += 1) {
      await vi.advanceTimersByTimeAsync(seconds === 0 ? 0 : 1_000);
      if (closes) return seconds;
    }
    return Number.POSITIVE_INFINITY;
  }

  it("is not ready for five seconds first, where another node shares its store", async () => {
    const { lifecycle, service } = running(async () => true);
    await service.drain?.();
    expect(lifecycle.state()).toBe("draining");
    expect(await closesAfter(lifecycle)).toBe(SECONDS);
  });

  it("counts the time that it was drained for, and from the last drain", async () => {
    const { lifecycle, service } = running(async () => true);
    await lifecycle.drain();
    await vi.advanceTimersByTimeAsync(60_000);
    await lifecycle.resume();
    await lifecycle.drain();
    await vi.advanceTimersByTimeAsync(3_000);
    await service.drain?.();
    expect(await closesAfter(lifecycle)).toBe(SECONDS - 3);
  });

  it("takes no longer than turns would be given", async () => {
    const { lifecycle, service } = running(async () => true, 2_000);
    await service.drain?.();
    expect(await closesAfter(lifecycle)).toBe(2);
  });

  it.each([
    ["it is alone", async () => false],
    ["its store is gone, so that it was not ready before", () => Promise.reject(new Error("no connection"))],
  ])("closes at once when %s", async (_why, hasPeers) => {
    const { lifecycle, service } = running(hasPeers);
    await service.drain?.();
    expect(await closesAfter(lifecycle)).toBe(0);
  });

  it("waits no longer for a store that does not say whether it is alone", async () => {
    const { lifecycle, service } = running(() => new Promise(() => undefined));
    await service.drain?.();
    expect(await closesAfter(lifecycle)).toBe(SECONDS);
  });
});
