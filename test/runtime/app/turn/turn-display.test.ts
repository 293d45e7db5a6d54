import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { createTurnDisplay } from "../../../../runtime/app/turn/turn-display.ts";
import type { ClaimedTurn } from "../../../../runtime/app/turn/turn-rows.ts";
import type { Channel } from "../../../../runtime/contracts/channel.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

function open() {
  const typing: string[] = [];
  const channel = {
    id: "chat",
    startTyping: async (conversation: string) => void typing.push(`starts in ${conversation}`),
    stopTyping: async (conversation: string) => void typing.push(`stops in ${conversation}`),
  } as unknown as Channel;
  const display = createTurnDisplay({
    channels: new Map([["chat", channel]]),
    store: { keepDraft: async () => undefined, isBehind: async () => false },
    logger: quietLogger,
  });
  const turn = { channel: "chat", conversation: "c1", chain: null } as unknown as ClaimedTurn;
  return { typing, show: () => display.show(turn, new AbortController().signal) };
}

it("shows nothing of a turn that is answered at once: its platform gets one request", async () => {
  const { typing, show } = open();
  const shown = show();
  await vi.advanceTimersByTimeAsync(400);
  shown.end();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(typing).toEqual([]);
});

it("shows of one that takes longer that the agent types, until it ends", async () => {
  const { typing, show } = open();
  const shown = show();
  await vi.advanceTimersByTimeAsync(600);
  expect(typing).toEqual(["starts in c1"]);
  shown.end();
  expect(typing).toEqual(["starts in c1", "stops in c1"]);
});
