/** "… is typing" in a chat, which Telegram shows for five seconds. */

import type { Api } from "grammy";
import { chatOf } from "./chat-address.ts";

const AGAIN_MS = 4_500;

export interface Typing {
  start(conversation: string): void;
  stop(conversation: string): void;
  stopAll(): void;
}

export function createTyping(api: Api): Typing {
  const shown = new Map<string, { readonly timer: NodeJS.Timeout; turns: number }>();

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

  return {
    start,
    stop,
    stopAll() {
      for (const { timer } of shown.values()) clearInterval(timer);
      shown.clear();
    },
  };
}
