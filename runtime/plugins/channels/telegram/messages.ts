/** Sends, edits and removes messages of a bot: in parts where they are longer than Telegram takes. */

import { type Api, GrammyError, InputFile } from "grammy";
import type { Message } from "grammy/types";
import { LRUCache } from "lru-cache";
import type { OutboundMessage } from "../../../contracts/channel.ts";
import { choicesOf, howToAnswer } from "../choices.ts";
import { changeParts, idsOf, type PartedMessages, repeatNote, type SaidBefore, sendParts } from "../parts.ts";
import { chatOf } from "./chat-address.ts";
import { isRefused, newNumberOf } from "./errors.ts";
import { type Moves, messageAt, referenceTo } from "./moves.ts";
import { formatted, isSame, plain, type Shown, withNotes } from "./texts.ts";

export interface Messages extends PartedMessages {
  react(conversation: string, messageId: string, emoji: string): Promise<void>;
  /** A text of the service's own. `replyTo`: number of the message that it answers. */
  say(conversation: string, text: string, answer: SaidBefore & { readonly replyTo: number }): Promise<unknown>;
}

/** Bytes of a picture that is shown as one (Bot API, sendPhoto); larger ones are sent as files. */
const MOST_PHOTO = 10 * 1024 ** 2;
const PICTURES = new Set(["image/jpeg", "image/png", "image/webp"]);
/** Buttons of a question, and UTF-16 code units of the command that one sends. */
const MOST_CHOICES = 12;
const MOST_LINE = 68;

type More = Parameters<Api["sendMessage"]>[2];
/** Resolves with what refers to the message. */
type Part = (more: More) => Promise<string>;

export interface MessagesDeps {
  readonly api: Api;
  /** With the time that files take. */
  readonly uploads: Api;
  readonly moves: Moves;
}

export function createMessages({ api, uploads, moves }: MessagesDeps): Messages {
  /** Texts of messages that this process has sent or changed last: a draft that grows changes its last message. */
  const texts = new LRUCache<string, Shown>({ max: 500 });

  async function say(chat: number, { text, entities }: Shown, more: More): Promise<string> {
    const sent = await moves.follow(chat, (to) =>
      api.sendMessage(to, text, { ...(to === chat ? more : withoutReply(more)), entities }),
    );
    texts.set(`${sent.chat.id}:${sent.message_id}`, { text, entities });
    return referenceTo(chat, sent);
  }

  function shows(chat: number, reference: string): Shown | undefined {
    const message = messageAt(chat, reference);
    return texts.get(`${message.chat}:${message.id}`);
  }

  async function change(chat: number, reference: string, shown: Shown): Promise<void> {
    const message = messageAt(chat, reference);
    const key = `${message.chat}:${message.id}`;
    // Unknown until it is answered.
    texts.delete(key);
    const { text, entities } = shown;
    await api.editMessageText(message.chat, message.id, text, { entities }).catch(unless("message is not modified"));
    texts.set(key, shown);
  }

  /** Where the message cannot be changed for a reason that `mends` names, a new one is sent, of which `adding` hears before. */
  async function put(
    chat: number,
    reference: string | undefined,
    shown: Shown,
    {
      more,
      mends,
      adding,
    }: { readonly more: More; readonly mends: (error: unknown) => boolean; adding?(): Promise<void> },
  ): Promise<string> {
    if (reference === undefined) return say(chat, shown, more);
    const before = shows(chat, reference);
    try {
      await change(chat, reference, shown);
      return reference;
    } catch (error) {
      if (!mends(error)) throw error;
      // In the former chat it is still read.
      if (hasMoved(error) && isSame(before, shown)) return reference;
      await adding?.();
      return say(chat, shown, more);
    }
  }

  async function remove(chat: number, references: readonly string[]): Promise<void> {
    for (const reference of references) {
      const message = messageAt(chat, reference);
      // One that is gone, or too old to be deleted, is no reason to send the reply again.
      await api.deleteMessage(message.chat, message.id).catch(unlessRefused);
    }
  }

  function partsOf(
    message: OutboundMessage,
    shown: readonly string[],
  ): { readonly texts: number; readonly parts: readonly Part[] } {
    const { address, text, notice, question, attachments = [] } = message;
    const { chat, thread } = chatOf(address.conversation);
    const notes = [notice, question && howToAnswer(question), repeatNote(message)].filter(Boolean).join("\n\n");
    const written = withNotes(formatted(text), notes).map(
      (piece, index): Part =>
        // A draft may have been deleted, or is too old to be changed.
        (more) =>
          put(chat, shown[index], piece, { more: { ...thread, ...more }, mends: isBadRequest }),
    );
    const files = attachments.map(({ name, mediaType, data }): Part => {
      const bytes = Buffer.from(data, "base64");
      const isPicture = PICTURES.has(mediaType) && bytes.length <= MOST_PHOTO;
      return async (more) => {
        const place = { ...thread, ...more };
        const upload = (method: "sendPhoto" | "sendDocument") =>
          moves.follow<Message>(chat, (to) =>
            uploads[method](to, new InputFile(bytes, name), to === chat ? place : withoutReply(place)),
          );
        try {
          if (!isPicture) return referenceTo(chat, await upload("sendDocument"));
          const sent = await upload("sendPhoto").catch((error: unknown) => {
            // Of a shape that Telegram shows no picture of.
            if (isBadRequest(error)) return upload("sendDocument");
            throw error;
          });
          return referenceTo(chat, sent);
        } catch (error) {
          if (!isRefused(error) || error.error_code === 403) throw error;
          const sentence = `The file ${name} could not be sent: ${error.description}.`;
          return say(chat, { text: sentence, entities: [] }, place);
        }
      };
    });
    return { texts: written.length, parts: [...written, ...files] };
  }

  return {
    async send(message, keep) {
      const shown = idsOf(message.draft);
      const { texts: written, parts } = partsOf(message, shown);
      const sending = parts.map((part, index) => () => {
        const isLast = index === parts.length - 1;
        return part({
          ...(index === 0 ? replyingTo(Number(message.replyTo)) : {}),
          ...(isLast ? buttons(message) : {}),
        });
      });
      const sent = await sendParts(sending, message.sent, keep);
      await remove(chatOf(message.address.conversation).chat, shown.slice(written));
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = [], signal, keep) {
      const { chat, thread } = chatOf(conversation);
      return changeParts([messageId, ...overflowIds], formatted(text), {
        async put(shown, piece, adding) {
          if (shown !== undefined && isSame(shows(chat, shown), piece)) return shown;
          return put(chat, shown, piece, { more: thread, mends: hasMoved, adding });
        },
        remove: (references) => remove(chat, references),
        signal,
        keep,
      });
    },
    async react(conversation, messageId, emoji) {
      // Which ones there are the platform decides, and says.
      const reaction = { type: "emoji", emoji } as Parameters<Api["setMessageReaction"]>[2][number];
      const message = messageAt(chatOf(conversation).chat, messageId);
      await api.setMessageReaction(message.chat, message.id, [reaction]);
    },
    async say(conversation, text, { replyTo, sent, keep }) {
      const { chat, thread } = chatOf(conversation);
      const parts = plain(text).map(
        (piece, index) => () => say(chat, piece, { ...thread, ...(index === 0 ? replyingTo(replyTo) : {}) }),
      );
      return sendParts(parts, sent, keep);
    },
  };
}

/** A message that was deleted meanwhile is no reason not to answer. */
function replyingTo(id: number | undefined): More {
  if (id === undefined || !Number.isInteger(id)) return {};
  return { reply_parameters: { message_id: id, allow_sending_without_reply: true } };
}

/** In another chat its number is another message's. */
function withoutReply({ reply_parameters: _, ...more }: NonNullable<More> = {}): More {
  return more;
}

/** In the chat with the owner, where nobody else sees them. What is chosen comes as a command. */
function buttons({ address, question }: OutboundMessage): More {
  const choices = question === undefined ? [] : choicesOf(question);
  if (choices.length === 0 || choices.length > MOST_CHOICES || chatOf(address.conversation).chat < 0) return {};
  if (choices.some(({ line }) => line.length > MOST_LINE || line.includes("\n"))) return {};
  const keyboard = choices.map(({ line }) => [{ text: line }]);
  return { reply_markup: { keyboard, one_time_keyboard: true, resize_keyboard: true } };
}

function isBadRequest(error: unknown): boolean {
  return error instanceof GrammyError && error.error_code === 400;
}

function hasMoved(error: unknown): boolean {
  return newNumberOf(error) !== undefined;
}

function unlessRefused(error: unknown): undefined {
  if (!isRefused(error)) throw error;
}

function unless(description: string): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof GrammyError && error.description.includes(description)) return undefined;
    throw error;
  };
}
