import { expect, it, vi } from "vitest";
import { createOutbox, type OutboxDeps } from "../../../../runtime/app/turn/outbox.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

/** An outbox over rows in memory that sends by `send`; one channel. */
function outboxOf(texts: readonly string[], send: (text: string) => Promise<void>) {
  const pending = texts.map((text, index) => ({
    id: `row-${index}`,
    seq: String(index + 1),
    turn_id: "turn",
    channel: "chat",
    agent: "main",
    payload: { conversation: "c", user: "", text, notice: null },
    attempts: 1,
    platform_ids: [],
  }));
  const deps = {
    // As an update may return them: in no order.
    database: {
      query: async (sql: string) => ({ rows: sql.includes("outbox:take") ? pending.splice(0).reverse() : [] }),
    },
    channels: new Map([["chat", { send: ({ text }: { text: string }) => send(text).then(() => null) }]]),
    attachments: { load: async () => null },
    logger: quietLogger,
  };
  // What it reads of them.
  return createOutbox(deps as unknown as OutboxDeps);
}

it("sends what one turn says in its order, whichever of its messages takes long", async () => {
  const arrived: string[] = [];
  const outbox = outboxOf(["one", "two", "reply"], async (text) => {
    for (let tick = text === "one" ? 10 : 0; tick > 0; tick--) await Promise.resolve();
    arrived.push(text);
  });
  await outbox.drain();
  expect(arrived).toEqual(["one", "two", "reply"]);
});

it("goes on with what a turn says when one of its messages cannot be sent", async () => {
  const arrived: string[] = [];
  const outbox = outboxOf(["one", "two"], async (text) => {
    if (text === "one") throw new Error("busy");
    arrived.push(text);
  });
  await outbox.drain();
  expect(arrived).toEqual(["two"]);
});

it("ends its drain and its stop although a channel never says that it has sent", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const outbox = outboxOf(["one"], () => new Promise(() => {}));
  const ended = outbox.drain().then(() => outbox.stop());
  await vi.advanceTimersByTimeAsync(20_000);
  await ended;
  vi.useRealTimers();
});
