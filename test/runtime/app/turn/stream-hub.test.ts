import { describe, expect, it } from "vitest";
import { finalIdOf, StreamHub } from "../../../../runtime/app/turn/stream-hub.ts";
import type { StreamEvent } from "../../../../runtime/contracts/stream.ts";

const delta = (turn_id: string, text: string): StreamEvent => ({ type: "text.delta", turn_id, text });
const finished = (turn_id: string, text = ""): StreamEvent => ({
  type: "turn.finished",
  turn_id,
  session: "s",
  text,
  usage: { inputTokens: 0, outputTokens: 0 },
  interrupted: false,
});

describe("the events of running turns", () => {
  it("are read from where a reader left off, in order", () => {
    const hub = new StreamHub(() => 0);
    const emit = hub.open("t", 1);
    for (const text of ["a", "b", "c"]) emit(delta("t", text));
    const [first, ...rest] = hub.since("t", 0);
    expect(rest).toEqual(hub.since("t", first?.id ?? 0));
    expect(rest.map(({ event }) => event)).toEqual([delta("t", "b"), delta("t", "c")]);
  });

  it("wake whoever waits, also before the turn has begun and when it begins again", async () => {
    const hub = new StreamHub(() => 0);
    const before = hub.next("t");
    const emit = hub.open("t", 1);
    emit(delta("t", "a"));
    await before.promise;
    const between = hub.next("t");
    hub.open("t", 2)(delta("t", "again"));
    await between.promise;
    expect(hub.since("t", 0).map(({ event }) => event)).toEqual([delta("t", "again")]);
  });

  it("have ids that grow over attempts, so that a reader of the first one misses nothing of the second", () => {
    const hub = new StreamHub(() => 0);
    hub.open("t", 1)(delta("t", "a"));
    const last = hub.since("t", 0).at(-1)?.id ?? 0;
    hub.open("t", 2)(delta("t", "b"));
    expect(hub.since("t", last)).toHaveLength(1);
    expect(finalIdOf(1)).toBeGreaterThan(last);
    expect(finalIdOf(1)).toBeLessThan(hub.since("t", 0)[0]?.id ?? 0);
  });

  it("take a bounded room: long ended turns go first, then the oldest events of running ones", () => {
    const hub = new StreamHub(() => 0);
    const large = "x".repeat(1024 ** 2);
    const running = hub.open("running", 1);
    running(delta("running", "kept"));
    for (let n = 0; n < 40; n++) {
      const emit = hub.open(`ended ${n}`, 1);
      emit(delta(`ended ${n}`, large));
      emit(finished(`ended ${n}`, large));
    }
    expect(hub.since("ended 0", 0)).toEqual([]);
    expect(hub.since("ended 39", 0)).toHaveLength(2);
    expect(hub.since("running", 0)).toHaveLength(1);
    for (let n = 0; n < 40; n++) running(delta("running", large));
    const units = hub
      .since("running", 0)
      .reduce((sum, { event }) => sum + ("text" in event ? event.text.length : 0), 0);
    expect(units).toBeLessThanOrEqual(16 * 1024 ** 2);
    expect(hub.since("running", 0).at(-1)?.event).toEqual(delta("running", large));
  });

  it("of an ended turn are forgotten after five minutes", () => {
    let now = 0;
    const hub = new StreamHub(() => now);
    hub.open("old", 1)(finished("old"));
    now = 5 * 60_000 + 1;
    hub.open("new", 1)(finished("new"));
    expect(hub.since("old", 0)).toEqual([]);
    expect(hub.since("new", 0)).toHaveLength(1);
  });
});
