/** Which updates are messages of people, and what they say. */

import type { Logger } from "../../../contracts/ports.ts";
import type { ChatMessage } from "../chat-message.ts";
import type { ChatMessages } from "../chat-messages.ts";
import { conversationOf } from "./chat-address.ts";
import type { Downloads } from "./downloads.ts";
import type { TakeUpdate } from "./polling.ts";
import { type PersonMessage, readUpdate } from "./updates.ts";

export interface InboundDeps {
  /** The bot's number: messages of another bot have numbers of their own. */
  readonly bot: string;
  readonly ownerId: string | undefined;
  readonly downloads: Downloads;
  readonly messages: Pick<ChatMessages, "take" | "notice">;
  readonly logger: Logger;
}

/** What people may send that agents are not given. */
const UNREAD = ["sticker", "location", "venue", "contact", "poll", "dice", "game", "story", "video_note"] as const;

export interface Inbound {
  /** Rejects where the update is to come again: the store is away, or the node takes nothing now. */
  readonly take: TakeUpdate;
  /** It is to be taken after others. */
  notice(update: unknown, username: string): void;
}

export function createInbound({ bot, ownerId, downloads, messages, logger }: InboundDeps): Inbound {
  function chatMessage(message: PersonMessage, text: string, command: string | undefined): ChatMessage {
    const { from } = message;
    const topic = message.is_topic_message ? message.message_thread_id : undefined;
    return {
      conversation: conversationOf(message.chat.id, topic),
      user: String(from.id),
      name: [from.first_name, from.last_name].filter(Boolean).join(" "),
      isOwner: ownerId !== undefined && String(from.id) === ownerId,
      isPrivate: message.chat.type === "private",
      id: String(message.message_id),
      externalId: `${bot}:${message.message_id}`,
      text: command ?? text,
      sentAt: sentAt(message.date ?? Date.now() / 1_000, Date.now()),
      isCommand: command !== undefined,
      hasUnread: UNREAD.some((kind) => kind in message),
      files: downloads.of(message),
    };
  }

  /** Undefined where it is for another bot. */
  function read(message: PersonMessage, username: string): ChatMessage | undefined {
    const text = message.text ?? message.caption ?? "";
    const [, name, to] = (isCommand(message) && /^\/(\w+)(?:@(\w+))?/.exec(text)) || [];
    // In a group it may be another bot's.
    if (to !== undefined && to.toLowerCase() !== username.toLowerCase()) return undefined;
    const line = to === undefined ? text : text.replace(`@${to}`, "");
    const command = name === undefined ? undefined : line;
    return chatMessage(message, text, command);
  }

  return {
    async take(update, username, signal) {
      const given = readUpdate(update);
      if (given.kind === "move") {
        logger.warn(given.move, "a group became a supergroup: the configuration names it by a new number");
      }
      if (given.kind !== "message") return;
      const written = read(given.message, username);
      if (written !== undefined) await messages.take(written, signal);
    },
    notice(update, username) {
      const given = readUpdate(update);
      const written = given.kind === "message" ? read(given.message, username) : undefined;
      if (written !== undefined) messages.notice(written);
    },
  };
}

function isCommand({ entities = [] }: PersonMessage): boolean {
  return entities.some(({ type, offset }) => type === "bot_command" && offset === 0);
}

/**
 * Telegram gives whole seconds: the latest moment of that one which is not ahead of the receiver's clock, so that an answer to a reply of
 * the same second stands behind it. `date`: in seconds; `now`: in milliseconds.
 */
export function sentAt(date: number, now: number): string {
  const earliest = date * 1_000;
  return new Date(Math.max(earliest, Math.min(now, earliest + 999))).toISOString();
}
