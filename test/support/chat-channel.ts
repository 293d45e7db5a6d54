/**
 * A chat platform in memory and its channel, which does everything that the contract has: it shows that a channel can be
 * written against the contract alone.
 */

import type {
  Attachment,
  Channel,
  ChannelState,
  CommandHandler,
  EditResult,
  InboundMessage,
  MessageHandler,
  StrangerHandler,
} from "../../runtime/contracts/channel.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { splitText } from "../../runtime/domain/splitting.ts";

export interface ChatMessage {
  readonly id: string;
  readonly conversation: string;
  text: string;
  readonly files: readonly Attachment[];
  readonly reactions: string[];
}

export interface ChatPlatform {
  readonly messages: ChatMessage[];
  /** What messages were changed into, in order. */
  readonly changes: string[];
  readonly typing: Set<string>;
  /** To messages of people. */
  readonly reactions: { readonly conversation: string; readonly messageId: string; readonly emoji: string }[];
  /** Throws where the platform does not take what it is given. */
  check(text: string): void;
}

export function chatPlatform(): ChatPlatform {
  return { messages: [], changes: [], typing: new Set(), reactions: [], check: () => undefined };
}

export interface ChatChannel extends Channel {
  /** A user of the platform says something; resolves with the turn when it is durable, or with nothing where it is none's. */
  hear(message: InboundMessage): Promise<string>;
  lose(reason: string): void;
}

/** UTF-16 code units of a message. */
export const LIMIT = 20;

export function createChatChannel(id: string, platform: ChatPlatform): ChatChannel {
  let state: ChannelState = { state: "connecting", reason: "not started" };
  let onMessage: MessageHandler | undefined;
  let onCommand: CommandHandler | undefined;
  let onStranger: StrangerHandler | undefined;

  let ids = 0;

  function put(conversation: string, text: string, files: readonly Attachment[] = []): string {
    platform.check(text);
    const message = { id: `m${++ids}`, conversation, text, files, reactions: [] };
    platform.messages.push(message);
    return message.id;
  }

  function found(conversation: string, messageId: string): ChatMessage | undefined {
    return platform.messages.find((one) => one.id === messageId && one.conversation === conversation);
  }

  function change(conversation: string, messageId: string | undefined, text: string): string | undefined {
    const message = messageId === undefined ? undefined : found(conversation, messageId);
    if (!message) return undefined;
    platform.check(text);
    message.text = text;
    platform.changes.push(text);
    return message.id;
  }

  function remove(ids: readonly string[]): void {
    for (const id of ids) {
      const index = platform.messages.findIndex((message) => message.id === id);
      if (index >= 0) platform.messages.splice(index, 1);
    }
  }

  const channel: ChatChannel = {
    id,
    platform: "chat",
    async start() {
      state = { state: "up", reason: null };
    },
    async stop() {
      state = { state: "down", reason: "stopped" };
    },
    state: () => state,
    lose(reason) {
      state = { state: "connecting", reason };
    },
    draftPauseMs: () => 20,
    async send(message, keep) {
      const { address, text, notice, attachments = [], draft } = message;
      const { conversation } = address;
      const shown = draft ? [draft.primary, ...draft.overflow] : [];
      const texts = splitText([text, notice, message.mayRepeat && "(again?)"].filter(Boolean).join(" "), LIMIT);
      const pieces = texts.length === 0 && attachments.length > 0 ? [""] : texts;
      let sent: EditResult | null = message.sent ?? null;
      const done = sent === null ? 0 : 1 + sent.overflow.length;
      for (const [index, piece] of pieces.entries()) {
        if (index < done) continue;
        const files = index === 0 ? attachments : [];
        const messageId = change(conversation, shown[index], piece) ?? put(conversation, piece, files);
        sent =
          sent === null ? { primary: messageId, overflow: [] } : { ...sent, overflow: [...sent.overflow, messageId] };
        await keep?.(sent, index < pieces.length - 1);
      }
      remove(shown.slice(pieces.length));
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = [], _signal, keep): Promise<EditResult | null> {
      const ids = [messageId, ...overflowIds];
      const pieces = splitText(text, LIMIT);
      let [primary, ...overflow]: string[] = [];
      for (const [index, piece] of pieces.entries()) {
        if (primary !== undefined && index === ids.length) await keep?.({ primary, overflow }, true);
        const shown = change(conversation, ids[index], piece) ?? put(conversation, piece);
        if (primary === undefined) primary = shown;
        else overflow = [...overflow, shown];
        if (index >= ids.length) await keep?.({ primary, overflow }, index < pieces.length - 1);
      }
      remove(ids.slice(pieces.length));
      return primary === undefined ? null : { primary, overflow };
    },
    async react(conversation, messageId, emoji) {
      const message = found(conversation, messageId);
      if (message) message.reactions.push(emoji);
      else platform.reactions.push({ conversation, messageId, emoji });
    },
    async startTyping(conversation) {
      platform.typing.add(conversation);
    },
    async stopTyping(conversation) {
      platform.typing.delete(conversation);
    },
    onMessage(handler) {
      onMessage = handler;
    },
    onCommand(handler) {
      onCommand = handler;
    },
    onStranger(handler) {
      onStranger = handler;
    },
    async hear(message) {
      const { address, agent, owner, text, externalId } = message;
      const { conversation, user } = address;
      if (!onMessage) throw new Error("the channel is not connected");
      if (!owner) {
        const admission = await onStranger?.({ channel: id, user, name: user, mayAsk: true });
        if (admission?.admitted === false && admission.code !== null) put(conversation, admission.code);
        if (!admission?.admitted) return "";
      }
      if (!text.startsWith("/") || !onCommand) {
        try {
          return (await onMessage(message)).turnId;
        } catch (error) {
          if (!(error instanceof RuntimeError) || error.code !== "RUNTIME_RATE_LIMITED") throw error;
          put(conversation, error.message);
          return "";
        }
      }
      put(conversation, (await onCommand({ address, agent, line: text, owner, externalId })).text);
      return "";
    },
  };
  return channel;
}
