/** "… is typing" in a chat, which Telegram shows for five seconds. */

import type { Api } from "grammy";
import type { Logger } from "../../../contracts/ports.ts";
import { isFinal, type StreamEvent } from "../../../contracts/stream.ts";
import { chatOf } from "./chat-address.ts";

const AGAIN_MS = 4_500;
/** Turns for which it is shown at once: it is a courtesy, and each costs a request every few seconds. */
const MOST = 50;

export interface Typing {
  start(conversation: string): void;
  stop(conversation: string): void;
  stopAll(): void;
  /** While a turn runs; `events` begins to follow it. */
  during(conversation: string, events: () => AsyncIterable<StreamEvent>): void;
}

export function createTyping({ api, logger }: { readonly api: Api; readonly logger: Logger }): Typing {
  const shown = new Map<string, { readonly timer: NodeJS.Timeout; turns: number }>();

  let followed = 0;

  function start(conversation: string): void {
    const existing = shown.get(conversation);
    if (existing) existing.turns++;
    if (existing) return;
    const { chat, thread } = chatOf(conversation);
    const show = (): void => {
      api.sendChatAction(chat, "typing", thread).catch(() => undefined);
    };
    show();
    shown.set(conversation, { timer: setInterval(show, AGAIN_MS), turns: 1 });
  }

  function stop(conversation: string): void {
    const entry = shown.get(conversation);
    if (!entry || --entry.turns > 0) return;
    clearInterval(entry.timer);
    shown.delete(conversation);
  }

  async function until(conversation: string, events: AsyncIterable<StreamEvent>): Promise<void> {
    start(conversation);
    try {
      for await (const event of events) if (isFinal(event) || event.type === "turn.waiting") return;
    } finally {
      stop(conversation);
    }
  }

  return {
    start,
    stop,
    stopAll() {
      for (const { timer } of shown.values()) clearInterval(timer);
      shown.clear();
    },
    during(conversation, events) {
      if (followed >= MOST) return;
      followed++;
      const ended = until(conversation, events()).finally(() => followed--);
      ended.catch((err: unknown) => logger.debug({ err }, "a turn could not be followed"));
    },
  };
}
