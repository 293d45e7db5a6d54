/** Pager: messages of the owner to a bot, which asks for them, and replies of agents. */

import { createHash } from "node:crypto";
import { z } from "zod";
import type { Channel } from "../../../../../runtime/contracts/channel.ts";
import { toCairnError } from "../../../../../runtime/contracts/errors.ts";
import { splitMarkdown } from "../../../../../runtime/domain/fenced-pieces.ts";
import { createChatMessages } from "../../../../../runtime/plugins/channels/chat-messages.ts";
import { howToAnswer } from "../../../../../runtime/plugins/channels/choices.ts";
import type { ChannelNeeds } from "../../../../../runtime/plugins/channels/manifest.ts";
import { MAY_REPEAT, sendParts } from "../../../../../runtime/plugins/channels/parts.ts";
import { createPagerApi } from "./api.ts";

const SERVER = "https://pager.example";
/** Characters of a message. */
const MOST_TEXT = 200;
/** Seconds that the platform waits for a message. */
const WAIT_S = 25;

export function createPagerChannel({ id, token, ownerId, baseUrl = SERVER, logger }: ChannelNeeds): Channel {
  const api = createPagerApi(baseUrl.replace(/\/+$/, ""), token);
  const inbound = createChatMessages({
    id,
    logger,
    say: (conversation, text, _replyTo, sent, keep) =>
      sendParts(
        pieces(text).map((piece) => () => api.post(conversation, piece)),
        sent,
        keep,
      ),
    failureOf: toCairnError,
  });

  return {
    id,
    platform: "pager",
    receiver: {
      account: createHash("sha256").update(token).digest("hex").slice(0, 32),
      async receive({ signal, connected, position }) {
        const aborted = Promise.withResolvers<never>();
        aborted.promise.catch(() => undefined);
        signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
        try {
          signal.throwIfAborted();
          let last = z
            .int()
            .prefault(0)
            .parse(await Promise.race([position.read(), aborted.promise]));
          for (let waitS = 0; ; waitS = WAIT_S) {
            const messages = await api.messagesAfter(last, waitS, signal);
            connected();
            for (const { number, from, name, text, at } of messages) {
              const taken = inbound.take(
                {
                  conversation: from,
                  user: from,
                  name,
                  isOwner: from === ownerId,
                  isPrivate: true,
                  id: String(number),
                  externalId: String(number),
                  text,
                  sentAt: at,
                  isCommand: text.startsWith("/"),
                  hasUnread: false,
                  files: [],
                },
                signal,
              );
              taken.catch(() => undefined);
              // What is not taken when the signal aborts comes again.
              await Promise.race([taken, aborted.promise]);
              last = number;
              await position.keep(last);
            }
          }
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      },
    },
    async start() {},
    async stop() {
      inbound.stop();
    },
    async send({ address, text, notice, question, mayRepeat, attachments = [], sent }, keep) {
      const { conversation } = address;
      const answer = question && howToAnswer(question);
      const repeat = mayRepeat && MAY_REPEAT;
      const parts = [
        ...pieces([text, notice, answer, repeat].filter(Boolean).join("\n\n")).map(
          (piece) => () => api.post(conversation, piece),
        ),
        ...attachments.map((file) => () => api.postFile(conversation, file)),
      ];
      return sendParts(parts, sent, keep);
    },
    ...inbound.handlers,
  };
}

function pieces(text: string): string[] {
  return splitMarkdown(text.toWellFormed(), MOST_TEXT).filter((piece) => piece.trim() !== "");
}
