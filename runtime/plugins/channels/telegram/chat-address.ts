/** A conversation of the channel: a chat, or a topic of a forum. `-100123` or `-100123:7`. */

export interface ChatAddress {
  readonly chat: number;
  readonly thread: { readonly message_thread_id?: number };
}

export function chatOf(conversation: string): ChatAddress {
  const [chat = "", thread] = conversation.split(":");
  return { chat: Number(chat), thread: thread === undefined ? {} : { message_thread_id: Number(thread) } };
}

export function conversationOf(chat: number, thread: number | undefined): string {
  return thread === undefined ? String(chat) : `${chat}:${thread}`;
}
