/** Which messages are those of people, and what they say. */

import { type APIMessage, MessageType } from "discord-api-types/v10";
import { isRecord } from "../../../contracts/values.ts";
import type { ChatMessage, FileSource } from "../chat-message.ts";
import { isSnowflake } from "./positions.ts";

const WRITTEN: ReadonlySet<MessageType> = new Set([MessageType.Default, MessageType.Reply]);

/** Messages of servers name those only where the gateway brings them. */
export type ReceivedMessage = APIMessage & { readonly fromGateway?: true; readonly guild_id?: string };

/** Whether it has what every message has. */
export function isMessage(value: unknown): value is APIMessage {
  if (!isRecord(value) || !isSnowflake(value["id"]) || !isSnowflake(value["channel_id"])) return false;
  return isRecord(value["author"]) && isSnowflake(value["author"]["id"]) && typeof value["content"] === "string";
}

/** Webhooks, bots and the platform's own notices have nobody to answer for them. */
export function isPerson(message: APIMessage): boolean {
  return message.author.bot !== true && message.webhook_id === undefined && WRITTEN.has(message.type);
}

export function isOwner(message: APIMessage, ownerId: string | undefined): boolean {
  return ownerId !== undefined && message.author.id === ownerId;
}

/** `bot`: the bot's own id; a mention of it in front is no part of what was said. */
export function chatMessage(
  message: ReceivedMessage,
  {
    bot,
    ownerId,
    files,
  }: { readonly bot: string; readonly ownerId: string | undefined; readonly files: readonly FileSource[] },
): ChatMessage {
  const text = message.content.replace(new RegExp(`^\\s*<@!?${bot}>\\s*`), "");
  return {
    conversation: message.channel_id,
    user: message.author.id,
    name: nameOf(message),
    isOwner: isOwner(message, ownerId),
    isPrivate: message.fromGateway === true && message.guild_id === undefined,
    id: message.id,
    externalId: message.id,
    text,
    sentAt: sentAt(message),
    isCommand: /^\/[a-z_]+(?=\s|$)/i.test(text),
    hasUnread: [message.sticker_items, message.poll, message.message_snapshots, message.embeds].some((some) =>
      Array.isArray(some) ? some.length > 0 : some !== undefined,
    ),
    files,
  };
}

/** What Discord's types promise is not what any message has. */
function nameOf({
  author,
}: {
  readonly author: { readonly [Key in "id" | "global_name" | "username"]: unknown };
}): string {
  return [author.global_name, author.username, author.id].find((name) => typeof name === "string") ?? "";
}

/** What cannot be stored as a time is now. */
function sentAt({ timestamp }: { readonly timestamp: unknown }): string {
  const date = new Date(typeof timestamp === "string" ? timestamp : Number.NaN);
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9_999 ? date.toISOString() : new Date().toISOString();
}
