/**
 * A chat platform in memory and its channel, which does everything that the contract has: it shows that a channel can be
 * written against the contract alone.
 */

import type {
  Attachment,
  Channel,
  ChannelState,
  EditResult,
  FollowTurn,
  InboundMessage,
  MessageHandler,
} from "../../runtime/contracts/channel.ts";
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
  readonly typing: Set<string>;
  /** Throws where the platform does not take what it is given. */
  check(text: string): void;
}

export function chatPlatform(): ChatPlatform {
  return { messages: [], typing: new Set(), check: () => undefined };
}

export interface ChatChannel extends Channel {
  /** A user of the platform says something; resolves with the turn when it is durable. */
  hear(message: InboundMessage): Promise<string>;
  /** What was shown of turns while they ran, in order. */
  readonly shown: string[];
  lose(reason: string): void;
}

const LIMIT = 20;

export function createChatChannel(id: string, platform: ChatPlatform): ChatChannel {
  let state: ChannelState = { state: "connecting", reason: "not started" };
  let onMessage: MessageHandler | undefined;
  let follow: FollowTurn | undefined;
  const stopping = new AbortController();
  const following = new Set<Promise<void>>();
  const shown: string[] = [];

  function put(conversation: string, text: string, files: readonly Attachment[] = []): string {
    platform.check(text);
    const message = { id: `m${platform.messages.length + 1}`, conversation, text, files, reactions: [] };
    platform.messages.push(message);
    return message.id;
  }

  function found(conversation: string, messageId: string): ChatMessage | undefined {
    return platform.messages.find((one) => one.id === messageId && one.conversation === conversation);
  }

  async function show(agent: string, turnId: string, conversation: string): Promise<void> {
    if (!follow) return;
    platform.typing.add(conversation);
    try {
      for await (const event of follow(agent, turnId, stopping.signal)) {
        if (event.type === "text.delta") shown.push(event.text);
      }
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    } finally {
      platform.typing.delete(conversation);
    }
  }

  const channel: ChatChannel = {
    id,
    platform: "chat",
    shown,
    async start() {
      state = { state: "up", reason: null };
    },
    async stop() {
      state = { state: "down", reason: "stopped" };
      stopping.abort();
      await Promise.all(following);
    },
    state: () => state,
    lose(reason) {
      state = { state: "connecting", reason };
    },
    async send(message, keep) {
      const { address, text, notice, attachments = [] } = message;
      const { conversation } = address;
      const pieces = splitText([text, notice].filter(Boolean).join(" "), LIMIT);
      let sent: EditResult | null = message.sent ?? null;
      const done = sent === null ? 0 : 1 + sent.overflow.length;
      for (const [index, piece] of pieces.slice(done).entries()) {
        const messageId = put(conversation, piece, done + index === 0 ? attachments : []);
        sent =
          sent === null ? { primary: messageId, overflow: [] } : { ...sent, overflow: [...sent.overflow, messageId] };
        await keep?.(sent);
      }
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = []): Promise<EditResult | null> {
      const ids = [messageId, ...overflowIds];
      const kept = splitText(text, LIMIT).map((piece, index) => {
        const message = found(conversation, ids[index] ?? "");
        if (!message) return put(conversation, piece);
        message.text = piece;
        return message.id;
      });
      const [primary, ...overflow] = kept;
      return primary === undefined ? null : { primary, overflow };
    },
    async react(conversation, messageId, emoji) {
      found(conversation, messageId)?.reactions.push(emoji);
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
    onCommand() {},
    onFollow(given) {
      follow = given;
    },
    async hear(message) {
      if (!onMessage) throw new Error("the channel is not connected");
      const { agent, turnId } = await onMessage(message);
      const showing = show(agent, turnId, message.address.conversation).finally(() => following.delete(showing));
      following.add(showing);
      return turnId;
    },
  };
  return channel;
}
