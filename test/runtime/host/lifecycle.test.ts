import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLifecycle } from "../../../runtime/host/lifecycle.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

describe("a node that is drained for a while", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function running() {
    const resumed: string[] = [];
    const dispatcher = { activeTurns: 0, drain: async () => undefined, resume: () => resumed.push("resumed") };
    const changes: boolean[] = [];
    const lifecycle = createLifecycle({
      dispatcher: () => dispatcher as never,
      drainDeadlineMs: 1_000,
      stopping: new AbortController().signal,
      logger: quietLogger,
      onChange: () => changes.push(lifecycle.draining),
    });
    const service = lifecycle.service({});
    void service.start?.(new AbortController().signal);
    return { lifecycle, service, resumed, changes };
  }

  it("accepts messages again by itself when the time is over", async () => {
    const { lifecycle, resumed } = running();
    await lifecycle.drain(undefined, 5_000);
    vi.advanceTimersByTime(4_999);
    expect([lifecycle.draining, resumed]).toEqual([true, []]);
    vi.advanceTimersByTime(1);
    expect([lifecycle.draining, resumed]).toEqual([false, ["resumed"]]);
  });

  it("is not resumed twice, and not after a drain without an end", async () => {
    const { lifecycle, resumed } = running();
    await lifecycle.drain(undefined, 5_000);
    await lifecycle.resume();
    await lifecycle.drain();
    vi.advanceTimersByTime(10_000);
    expect([lifecycle.draining, resumed]).toEqual([true, ["resumed"]]);
  });
});
