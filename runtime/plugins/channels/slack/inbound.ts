/** Which events are messages of people, and what they say. */

import { isRecord } from "../../../contracts/values.ts";
import type { ChatMessage, FileSource } from "../chat-message.ts";
import { conversationOf, isId, isTime } from "./address.ts";
import { commandLine, readable } from "./text.ts";

/** What is used of an event `message`. */
export interface SlackMessage {
  readonly channel: string;
  readonly user: string;
  readonly ts: string;
  readonly text: string;
  /** Of the thread's first message. */
  readonly thread: string | undefined;
  readonly isPrivate: boolean;
  readonly name: string;
  readonly files: unknown;
  readonly hasUnread: boolean;
}

/** What people write; all other kinds are notices, changes of messages, or the words of bots. */
const WRITTEN: ReadonlySet<unknown> = new Set([undefined, "file_share", "thread_broadcast", "me_message"]);

/** Of a payload of events; undefined where it is none of a person's. */
export function messageIn(payload: unknown): SlackMessage | undefined {
  return isRecord(payload) ? messageOf(payload["event"]) : undefined;
}

/** As `messageIn`, of a channel's history, which names neither the channel nor its kind. */
export function messageOfHistory(message: unknown, channel: string): SlackMessage | undefined {
  return messageOf(
    isRecord(message) ? { ...message, channel, channel_type: channel.startsWith("D") ? "im" : "" } : null,
  );
}

function messageOf(event: unknown): SlackMessage | undefined {
  if (!isRecord(event) || event["type"] !== "message" || !WRITTEN.has(event["subtype"])) return undefined;
  const { channel, user, ts, text, thread_ts: thread, channel_type: kind, files, attachments } = event;
  if (event["bot_id"] !== undefined || event["hidden"] === true) return undefined;
  if (!isId(channel) || !isId(user) || !isTime(ts)) return undefined;
  return {
    channel,
    user,
    ts,
    text: typeof text === "string" ? text : "",
    thread: isTime(thread) && thread !== ts ? thread : undefined,
    isPrivate: kind === "im",
    name: nameIn(event["user_profile"]) ?? user,
    files,
    hasUnread: Array.isArray(attachments) && attachments.length > 0,
  };
}

/** `bot`: the bot's own id; a mention of it in front is no part of what was said. */
export function chatMessage(
  message: SlackMessage,
  {
    bot,
    ownerId,
    files,
  }: { readonly bot: string; readonly ownerId: string | undefined; readonly files: readonly FileSource[] },
): ChatMessage {
  const text = readable(message.text.replace(new RegExp(`^\\s*<@${bot}(?:\\|[^<>]*)?>\\s*`), "")).trim();
  const line = commandLine(text);
  return {
    conversation: conversationOf(message.channel, message.thread),
    user: message.user,
    name: message.name,
    isOwner: message.user === ownerId,
    isPrivate: message.isPrivate,
    id: message.ts,
    externalId: message.ts,
    text: line ?? text,
    sentAt: new Date(Number(message.ts) * 1_000).toISOString(),
    isCommand: line !== undefined,
    hasUnread: message.hasUnread,
    files,
  };
}

/** Slack says it of some people alone. */
function nameIn(profile: unknown): string | undefined {
  if (!isRecord(profile)) return undefined;
  const { display_name: shown, real_name: real } = profile;
  return [shown, real].find((name): name is string => typeof name === "string" && name !== "");
}
