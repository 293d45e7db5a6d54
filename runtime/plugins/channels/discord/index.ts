/** Discord: messages of the owner to a bot, in private and on servers, and replies of agents. */

import { createHash } from "node:crypto";
import type { Channel } from "../../../contracts/channel.ts";
import { createChatMessages } from "../chat-messages.ts";
import type { ChannelNeeds } from "../manifest.ts";
import { createTyping } from "../typing.ts";
import { createApi } from "./api.ts";
import { filesOf } from "./downloads.ts";
import { sendingError } from "./errors.ts";
import { chatMessage, type ReceivedMessage } from "./inbound.ts";
import { createInteractions } from "./interactions.ts";
import { createMessages, MOST_FILE } from "./messages.ts";
import { createReceiving } from "./receiving.ts";
import { SERVER } from "./server.ts";

/** Discord shows for ten seconds that somebody types. */
const TYPING_MS = 9_000;
/** Between two changes of a message: a conversation takes five in five seconds, and its reply needs room, too. */
const PAUSE_MS = 2_000;

export function createDiscordChannel({ id, token, ownerId, baseUrl = SERVER, logger }: ChannelNeeds): Channel {
  const stopping = new AbortController();
  const api = createApi({ token, baseUrl: baseUrl.replace(/\/+$/, ""), signal: stopping.signal });
  const messages = createMessages(api);
  const typing = createTyping({ againMs: TYPING_MS, show: (conversation) => api.type(conversation).catch(rethrow) });
  const inbound = createChatMessages({
    id,
    logger,
    say: (conversation, text, replyTo, sent, keep) => messages.say(conversation, text, { replyTo, sent, keep }),
    failureOf: sendingError,
  });
  const read = (message: ReceivedMessage, bot: string) =>
    chatMessage(message, { bot, ownerId, files: filesOf(message) });
  const interact = createInteractions({ api, ownerId, logger, inbound, signal: stopping.signal });

  return {
    id,
    platform: "discord",
    receiver: {
      account: createHash("sha256").update(token).digest("hex").slice(0, 32),
      receive: inbound.receiver(
        createReceiving({
          api,
          token,
          ownerId,
          logger,
          hearsOthers: inbound.hearsOthers,
          take: (message, bot, signal) => inbound.take(read(message, bot), signal),
          notice: (message, bot) => inbound.notice(read(message, bot)),
          interact,
        }),
      ),
    },
    maxFileBytes: MOST_FILE,
    async start() {},
    async stop() {
      stopping.abort();
      inbound.stop();
      typing.stopAll();
    },
    send: (message, keep) => messages.send(message, keep).catch(rethrow),
    edit: (...change) => messages.edit(...change).catch(rethrow),
    draftPauseMs: () => PAUSE_MS,
    react: (conversation, messageId, emoji) => messages.react(conversation, messageId, emoji).catch(rethrow),
    startTyping: async (conversation) => typing.start(conversation),
    stopTyping: async (conversation) => typing.stop(conversation),
    ...inbound.handlers,
  };
}

/** What the library throws holds the request. */
function rethrow(error: unknown): never {
  throw sendingError(error);
}
