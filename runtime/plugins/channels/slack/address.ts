/** A conversation of the channel: a channel of Slack's, or a thread in it. `C012AB3CD` or `C012AB3CD:1700000000.000100`. */

export interface SlackAddress {
  readonly channel: string;
  /** Time of the thread's first message. */
  readonly thread: { readonly thread_ts?: string };
}

export function slackAddress(conversation: string): SlackAddress {
  const [channel = "", thread] = conversation.split(":");
  return { channel, thread: thread === undefined ? {} : { thread_ts: thread } };
}

export function conversationOf(channel: string, thread: string | undefined): string {
  return thread === undefined ? channel : `${channel}:${thread}`;
}

export function isConversation(value: string): boolean {
  const { channel, thread } = slackAddress(value);
  return isId(channel) && (thread.thread_ts === undefined || isTime(thread.thread_ts));
}

/** Slack's id of a channel, a private conversation, a user or a file. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && /^[A-Z][A-Z0-9]{1,30}$/.test(value);
}

/** Of a message: unique within its channel. */
export function isTime(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,12}\.\d{6}$/.test(value);
}
