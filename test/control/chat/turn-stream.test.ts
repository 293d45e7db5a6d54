import { describe, expect, it } from "vitest";
import { type ChatNode, streamTurn } from "../../../control/chat/turn-stream.ts";
import { ChannelError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../../runtime/contracts/stream.ts";

const conversation = { agent: "main", session: "s" };
const started: StreamEvent = { type: "turn.started", turn_id: "t", session: "s", agent: "main", attempt: 1 };

describe("a message", () => {
  it.each([
    new ChannelError("CHANNEL_CONNECTION_LOST", "broke"),
    new RuntimeError("RUNTIME_DRAINING", "draining"),
    new RuntimeError("RUNTIME_NOT_READY", "starting"),
  ])("is sent again under its key after %s", async (error) => {
    const { node, keys } = nodeThatFails(error, 2);
    expect(await collect(streamTurn(node, conversation, { text: "x", key: "k" }, never()))).toEqual([started]);
    expect(keys).toEqual(["k", "k", "k"]);
  });

  it.each([
    new RuntimeError("RUNTIME_NOT_RUNNING", "nobody there"),
    new RuntimeError("RUNTIME_UNAUTHORIZED", "wrong token"),
    new ChannelError("CHANNEL_CONNECTION_LOST", "gave up", { turnId: "t" }),
  ])("is not sent again after %s", async (error) => {
    const { node, keys } = nodeThatFails(error, 1);
    await expect(collect(streamTurn(node, conversation, { text: "x", key: "k" }, never()))).rejects.toBe(error);
    expect(keys).toEqual(["k"]);
  });

  it("is not sent again once its turn was heard of", async () => {
    const lost = new ChannelError("CHANNEL_CONNECTION_LOST", "broke");
    const { node, keys } = nodeThatFails(lost, 1, [started]);
    await expect(collect(streamTurn(node, conversation, { text: "x", key: "k" }, never()))).rejects.toBe(lost);
    expect(keys).toEqual(["k"]);
  });

  it("is given up when the signal aborts", async () => {
    const { node } = nodeThatFails(new RuntimeError("RUNTIME_DRAINING", "draining"), 9);
    const reason = new Error("left");
    const stop = new AbortController();
    const events = collect(streamTurn(node, conversation, { text: "x", key: "k" }, stop.signal));
    stop.abort(reason);
    await expect(events).rejects.toBe(reason);
  });
});

/** Fails so many times, after the events; then its turn starts. */
function nodeThatFails(error: Error, times: number, before: readonly StreamEvent[] = []) {
  const keys: (string | undefined)[] = [];
  const node: ChatNode = {
    async *stream(_agent, _message, options) {
      keys.push(options?.idempotencyKey);
      if (keys.length > times) return yield started;
      yield* before;
      throw error;
    },
    follow: () => {
      throw new Error("not asked for");
    },
    command: () => Promise.reject(new Error("not asked for")),
  };
  return { node, keys };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
