/** The chat channel with a receiver: its platform keeps what people write until it was taken. */

import type { Channel, InboundMessage } from "../../runtime/contracts/channel.ts";
import { ChannelError } from "../../runtime/contracts/errors.ts";
import { type ChatPlatform, createChatChannel } from "./chat-channel.ts";

export interface ChatInbox {
  /** Not taken yet. */
  readonly waiting: InboundMessage[];
  put(message: InboundMessage): void;
  isUnreachable: boolean;
  /** Resolves with the next `put`. */
  changed(): Promise<void>;
}

export function chatInbox(): ChatInbox {
  let wake = Promise.withResolvers<void>();
  return {
    waiting: [],
    isUnreachable: false,
    put(message) {
      this.waiting.push(message);
      wake.resolve();
      wake = Promise.withResolvers();
    },
    changed: () => wake.promise,
  };
}

export function createReceivingChat(id: string, platform: ChatPlatform, inbox: ChatInbox): Channel {
  const { state: _, hear, ...channel } = createChatChannel(id, platform);
  return {
    ...channel,
    receiver: {
      account: "account",
      async receive({ signal, connected }) {
        if (inbox.isUnreachable) throw new ChannelError("CHANNEL_CONNECTION_LOST", "The platform cannot be reached.");
        const aborted = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => aborted.resolve(), { once: true });
        connected();
        while (!signal.aborted) {
          const [next] = inbox.waiting;
          if (next === undefined) {
            await Promise.race([inbox.changed(), aborted.promise]);
            continue;
          }
          const heard = hear(next);
          await Promise.race([heard, aborted.promise]);
          if (!signal.aborted) inbox.waiting.shift();
          else heard.catch(() => undefined);
        }
      },
    },
  };
}
