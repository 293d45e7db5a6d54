import { expect, it } from "vitest";
import { StreamHub } from "../../../../runtime/app/turn/stream-hub.ts";
import { shutdownEvent } from "../../../../runtime/app/turn/turn-end.ts";
import { createTurns, type TurnsDeps } from "../../../../runtime/app/turn/turns.ts";

/** Turns of which the store says, when it is let, that they are still running. */
function turnsOf(hub: StreamHub, answer: Promise<void>) {
  const store = { read: () => answer.then(() => ({ state: "running", attempt: 1, user: "ada" })) };
  // What waiting needs; nothing is accepted here.
  return createTurns({ hub, store, placement: { hosted: () => ["main"] } } as unknown as TurnsDeps);
}

it("who waits is told how the turn has ended although the wait ends in the same moment", async () => {
  const hub = new StreamHub(() => 0);
  const emit = hub.open("turn", 1);
  const row = Promise.withResolvers<void>();
  const closing = new AbortController();
  const waiting = turnsOf(hub, row.promise).wait("main", "turn", closing.signal);
  emit(shutdownEvent({ turnId: "turn", conversation: "s" }));
  closing.abort();
  row.resolve();
  await expect(waiting).rejects.toMatchObject({ code: "RUNTIME_TURN_INTERRUPTED" });
});

it("who waits is let go when the wait ends and nothing has been said", async () => {
  const hub = new StreamHub(() => 0);
  hub.open("turn", 1);
  const closing = new AbortController();
  const waiting = turnsOf(hub, Promise.resolve()).wait("main", "turn", closing.signal);
  closing.abort();
  await expect(waiting).rejects.toBe(closing.signal.reason);
});
