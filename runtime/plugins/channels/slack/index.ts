/** Slack: messages of the owner to an app's bot, in private, in channels and in threads, and replies of agents. */

import { createHash } from "node:crypto";
import type { Channel } from "../../../contracts/channel.ts";
import { createChatMessages } from "../chat-messages.ts";
import type { ChannelNeeds } from "../manifest.ts";
import { createApi } from "./api.ts";
import { createDownloads } from "./downloads.ts";
import { sendingError } from "./errors.ts";
import { chatMessage, type SlackMessage } from "./inbound.ts";
import { createInteractions } from "./interactions.ts";
import { createMessages } from "./messages.ts";
import { createPace } from "./pace.ts";
import { createReceiving } from "./receiving.ts";
import { SERVER } from "./server.ts";

export function createSlackChannel({
  id,
  token,
  appToken = "",
  ownerId,
  baseUrl: given = SERVER,
  logger,
}: ChannelNeeds): Channel {
  const stopping = new AbortController();
  const baseUrl = given.replace(/\/+$/, "");
  const api = createApi({ token, appToken, baseUrl, signal: stopping.signal });
  const messages = createMessages(api);
  const downloads = createDownloads({ token, baseUrl });
  const inbound = createChatMessages({
    id,
    logger,
    say: (conversation, text, _replyTo, sent, keep) => messages.say(conversation, text, { sent, keep }),
    failureOf: sendingError,
  });
  const read = (message: SlackMessage, bot: string) =>
    chatMessage(message, { bot, ownerId, files: downloads.of(message.files) });

  return {
    id,
    platform: "slack",
    receiver: {
      account: createHash("sha256").update(token).digest("hex").slice(0, 32),
      receive: inbound.receiver(
        createReceiving({
          api,
          ownerId,
          logger,
          hearsOthers: inbound.hearsOthers,
          take: (message, bot, signal) => inbound.take(read(message, bot), signal),
          notice: (message, bot) => inbound.notice(read(message, bot)),
          interact: createInteractions({ api, ownerId, logger, inbound, signal: stopping.signal }),
        }),
      ),
    },
    async start() {},
    async stop() {
      stopping.abort();
      inbound.stop();
    },
    send: (message, keep) => messages.send(message, keep).catch(rethrow),
    edit: (...change) => messages.edit(...change).catch(rethrow),
    draftPauseMs: createPace().pauseMs,
    react: (conversation, messageId, emoji) => messages.react(conversation, messageId, emoji).catch(rethrow),
    ...inbound.handlers,
  };
}

/** What the library throws holds the request. */
function rethrow(error: unknown): never {
  throw sendingError(error);
}
