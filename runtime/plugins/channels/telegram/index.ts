/** Telegram: messages of the owner to a bot, which asks for them by long polling, and replies of agents. */

import { createHash } from "node:crypto";
import { Api } from "grammy";
import { type Channel, webhookPath } from "../../../contracts/channel.ts";
import { createChatMessages } from "../chat-messages.ts";
import type { ChannelNeeds } from "../manifest.ts";
import { createTyping } from "../typing.ts";
import { chatOf } from "./chat-address.ts";
import { createDownloads } from "./downloads.ts";
import { sendingError } from "./errors.ts";
import { createInbound } from "./inbound.ts";
import { createMessages } from "./messages.ts";
import { createMoves } from "./moves.ts";
import { createPolling, POLL_S } from "./polling.ts";
import { SERVER } from "./server.ts";
import { createWebhook } from "./webhook.ts";

/** Seconds that a request may take, beyond its long poll; a file takes longer to send, and less than the outbox waits for a sender. */
const ANSWER_S = 20;
const UPLOAD_S = 50;
/** Telegram shows for five seconds that somebody types. */
const TYPING_MS = 4_500;
/** Between two changes of a message: a chat takes one a second, a group 20 in a minute (Bots FAQ, limits). */
const PAUSE_MS = 1_500;
const GROUP_PAUSE_MS = 4_000;

export function createTelegramChannel(needs: ChannelNeeds): Channel {
  const { id, token, ownerId, baseUrl = SERVER, webhookUrl, logger } = needs;
  const stopping = new AbortController();
  const apiRoot = baseUrl.replace(/\/+$/, "");
  const polling = new Api(token, { apiRoot, timeoutSeconds: POLL_S + ANSWER_S });
  const api = new Api(token, { apiRoot, timeoutSeconds: ANSWER_S });
  const uploads = new Api(token, { apiRoot, timeoutSeconds: UPLOAD_S });
  const moves = createMoves();
  const messages = createMessages({ api, uploads, moves });
  const typing = createTyping({
    againMs: TYPING_MS,
    show: (conversation) => {
      const { chat, thread } = chatOf(conversation);
      return moves.follow(chat, (to) => api.sendChatAction(to, "typing", thread)).catch(rethrow);
    },
  });
  const inbox = createChatMessages({
    id,
    logger,
    say: (conversation, text, replyTo, sent, keep) =>
      messages.say(conversation, text, { replyTo: Number(replyTo), sent, keep }),
    failureOf: sendingError,
  });
  const inbound = createInbound({
    bot: token.split(":")[0] ?? "",
    ownerId,
    downloads: createDownloads({ api, files: `${apiRoot}/file/bot${token}` }),
    messages: inbox,
    logger,
  });

  const ownWebhook = webhookPath(id);
  const posted =
    webhookUrl === undefined
      ? null
      : createWebhook({ api, token, url: webhookUrl, take: inbound.take, stopping: stopping.signal, logger });

  return {
    id,
    platform: "telegram",
    receiver: {
      account: createHash("sha256").update(token).digest("hex").slice(0, 32),
      receive: posted?.receive ?? inbox.receiver(createPolling({ api: polling, ...inbound, ownWebhook, logger })),
    },
    ...(posted === null ? {} : { webhook: posted.webhook }),
    async start() {},
    async stop() {
      stopping.abort();
      inbox.stop();
      typing.stopAll();
    },
    send: (message, keep) => messages.send(message, keep).catch(rethrow),
    edit: (...change) => messages.edit(...change).catch(rethrow),
    draftPauseMs: (conversation) => (chatOf(conversation).chat < 0 ? GROUP_PAUSE_MS : PAUSE_MS),
    react: (conversation, messageId, emoji) => messages.react(conversation, messageId, emoji).catch(rethrow),
    startTyping: async (conversation) => typing.start(conversation),
    stopTyping: async (conversation) => typing.stop(conversation),
    ...inbox.handlers,
  };
}

/** What the library throws may hold addresses, and the token is in them. */
function rethrow(error: unknown): never {
  throw sendingError(error);
}
