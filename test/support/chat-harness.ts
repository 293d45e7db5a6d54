/** The chat channels for the checks of `cairn-agents/testing/channel`. */

import type { Channel, InboundMessage } from "../../runtime/contracts/channel.ts";
import { ChannelError } from "../../runtime/contracts/errors.ts";
import type { ChannelHarness, DeliveredMessage, FakePlatform } from "../../runtime/testing/channel/index.ts";
import { type ChatPlatform, chatPlatform, createChatChannel, LIMIT } from "./chat-channel.ts";
import { type ChatInbox, chatInbox, createReceivingChat } from "./receiving-chat.ts";

export interface ChatParts {
  readonly channel: Channel;
  readonly platform: ChatPlatform;
  readonly inbox: ChatInbox;
  readonly secret: string;
}

/** Each node receives for itself. */
export const pushedChat: ChannelHarness = {
  lacks: ["receiver"],
  async open() {
    const platform = chatPlatform();
    const channel = createChatChannel("chat", platform);
    return {
      channel,
      conversation: "owner",
      secret: "secret-of-the-bot",
      platform: fakeOf(platform, chatInbox()),
      async deliver(message) {
        await channel.hear(inbound(message));
      },
      close: async () => undefined,
    };
  },
};

/** `change` makes of a right channel the one that is checked. */
export function receivingChat(
  change: (right: Channel, parts: ChatParts) => Channel = (right) => right,
): ChannelHarness {
  return {
    async open() {
      const [platform, inbox, secret] = [chatPlatform(), chatInbox(), "secret-of-the-bot"];
      const right = createReceivingChat("chat", platform, inbox);
      return {
        channel: change(right, { channel: right, platform, inbox, secret }),
        conversation: "owner",
        secret,
        platform: fakeOf(platform, inbox),
        deliver: async (message) => inbox.put(inbound(message)),
        close: async () => undefined,
      };
    },
  };
}

function fakeOf(platform: ChatPlatform, inbox: ChatInbox): FakePlatform {
  return {
    mostText: LIMIT,
    shown: () => platform.messages.map(({ id, text, files }) => ({ id, text, files: files.map(({ name }) => name) })),
    reactions: () => platform.reactions.map(({ emoji }) => emoji),
    typing: () => platform.typing.size,
    fail(fault) {
      inbox.isUnreachable = fault === "unreachable";
      const code = fault === "unreachable" ? "CHANNEL_CONNECTION_LOST" : "CHANNEL_REFUSED";
      platform.check = () => {
        throw new ChannelError(code, "Failed by a check.");
      };
    },
  };
}

function inbound({ from, text, key }: DeliveredMessage): InboundMessage {
  const address = { channel: "chat", conversation: from, user: from };
  return { address, agent: "", externalId: key, messageId: key, text, owner: from === "owner" };
}
