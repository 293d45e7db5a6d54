/** Sends, edits and removes messages of a bot: in parts where they are longer than Telegram takes. */

import { type Api, GrammyError, InputFile } from "grammy";
import { LRUCache } from "lru-cache";
import type { EditResult, KeepSent, OutboundMessage } from "../../../contracts/channel.ts";
import type { WaitingQuestion } from "../../../contracts/stream.ts";
import { splitMarkdown } from "../../../domain/fenced-pieces.ts";
import { chatOf } from "./chat-address.ts";
import { isRefused } from "./errors.ts";

export interface Messages {
  send(message: OutboundMessage, keep?: KeepSent): Promise<EditResult | null>;
  edit(
    conversation: string,
    messageId: string,
    text: string,
    overflowIds?: readonly string[],
    signal?: AbortSignal,
  ): Promise<EditResult | null>;
  react(conversation: string, messageId: string, emoji: string): Promise<void>;
  /** `replyTo`: number of the message that it answers. */
  say(conversation: string, text: string, replyTo?: number): Promise<void>;
}

/** UTF-16 code units of a message (Bot API, sendMessage). */
const MOST_TEXT = 4_096;
/** Bytes of a picture that is shown as one (Bot API, sendPhoto); larger ones are sent as files. */
const MOST_PHOTO = 10 * 1024 ** 2;
const PICTURES = new Set(["image/jpeg", "image/png", "image/webp"]);
/** Buttons of a question, and UTF-16 code units of one. */
const MOST_CHOICES = 12;
const MOST_CHOICE = 60;
/** Telegram takes a message twice where its first answer was not heard. */
const MAY_REPEAT = "(This may have reached you before.)";

type Part = (more: Parameters<Api["sendMessage"]>[2]) => Promise<{ readonly message_id: number }>;

/** `uploads`: with the time that files take. */
export function createMessages(api: Api, uploads: Api): Messages {
  /** Texts of messages that this process has sent or changed last: a draft that grows changes its last message. */
  const texts = new LRUCache<string, string>({ max: 500 });

  async function say(chat: number, text: string, more: Parameters<Api["sendMessage"]>[2]) {
    const sent = await api.sendMessage(chat, text, more);
    texts.set(`${chat}:${sent.message_id}`, text);
    return sent;
  }

  async function change(chat: number, id: number, text: string): Promise<void> {
    const key = `${chat}:${id}`;
    // Unknown until it is answered.
    texts.delete(key);
    await api.editMessageText(chat, id, text).catch(unless("message is not modified"));
    texts.set(key, text);
  }

  async function remove(chat: number, ids: readonly string[]): Promise<void> {
    // One that is gone, or too old to be deleted, is no reason to send the reply again.
    for (const id of ids) await api.deleteMessage(chat, Number(id)).catch(unlessRefused);
  }

  function partsOf(
    message: OutboundMessage,
    shown: readonly string[],
  ): { readonly texts: number; readonly parts: readonly Part[] } {
    const { address, text, notice, question, attachments = [] } = message;
    const { chat, thread } = chatOf(address.conversation);
    const isNew = (message.sent === undefined ? 0 : idsOf(message.sent).length) >= shown.length;
    const repeat = message.mayRepeat && isNew ? MAY_REPEAT : undefined;
    const written = pieces([text, notice, question && howToAnswer(question), repeat].filter(Boolean).join("\n\n")).map(
      (piece, index): Part =>
        async (more) => {
          const draft = Number(shown[index]);
          if (!Number.isInteger(draft)) return say(chat, piece, { ...thread, ...more });
          try {
            await change(chat, draft, piece);
            return { message_id: draft };
          } catch (error) {
            // It was deleted, or is too old to be changed.
            if (!isRefused(error) || error.error_code !== 400) throw error;
            return say(chat, piece, { ...thread, ...more });
          }
        },
    );
    const files = attachments.map(({ name, mediaType, data }): Part => {
      const bytes = Buffer.from(data, "base64");
      const isPicture = PICTURES.has(mediaType) && bytes.length <= MOST_PHOTO;
      return async (more) => {
        const place = { ...thread, ...more };
        const asDocument = () => uploads.sendDocument(chat, new InputFile(bytes, name), place);
        try {
          if (!isPicture) return await asDocument();
          return await uploads.sendPhoto(chat, new InputFile(bytes, name), place).catch((error: unknown) => {
            // Of a shape that Telegram shows no picture of.
            if (error instanceof GrammyError && error.error_code === 400) return asDocument();
            throw error;
          });
        } catch (error) {
          if (!isRefused(error) || error.error_code === 403) throw error;
          return api.sendMessage(chat, `The file ${name} could not be sent: ${error.description}.`, place);
        }
      };
    });
    return { texts: written.length, parts: [...written, ...files] };
  }

  return {
    async send(message, keep) {
      let sent = message.sent ?? null;
      const shown = message.draft ? idsOf(message.draft) : [];
      const { texts: written, parts } = partsOf(message, shown);
      for (const [index, part] of parts.entries()) {
        if (sent !== null && index < 1 + sent.overflow.length) continue;
        const isLast = index === parts.length - 1;
        const { message_id: id } = await part({
          ...(index === 0 ? replyingTo(Number(message.replyTo)) : {}),
          ...(isLast ? buttons(message) : {}),
        });
        sent = withPart(sent, String(id));
        await keep?.(sent);
      }
      await remove(chatOf(message.address.conversation).chat, shown.slice(written));
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = [], signal) {
      const { chat, thread } = chatOf(conversation);
      const given = [messageId, ...overflowIds];
      let sent: EditResult | null = null;
      for (const [index, piece] of pieces(text).entries()) {
        signal?.throwIfAborted();
        const id = given[index];
        if (id === undefined) {
          sent = withPart(sent, String((await say(chat, piece, thread)).message_id));
          continue;
        }
        if (texts.get(`${chat}:${id}`) !== piece) await change(chat, Number(id), piece);
        sent = withPart(sent, id);
      }
      if (sent === null) return null;
      signal?.throwIfAborted();
      await remove(chat, given.slice(1 + sent.overflow.length));
      return sent;
    },
    async react(conversation, messageId, emoji) {
      // Which ones there are the platform decides, and says.
      const reaction = { type: "emoji", emoji } as Parameters<Api["setMessageReaction"]>[2][number];
      await api.setMessageReaction(chatOf(conversation).chat, Number(messageId), [reaction]);
    },
    async say(conversation, text, replyTo) {
      const { chat, thread } = chatOf(conversation);
      for (const [index, piece] of pieces(text).entries()) {
        await api.sendMessage(chat, piece, { ...thread, ...(index === 0 ? replyingTo(replyTo) : {}) });
      }
    },
  };
}

function idsOf({ primary, overflow }: EditResult): readonly string[] {
  return [primary, ...overflow];
}

/** Telegram refuses what is white space alone. */
function pieces(text: string): string[] {
  return splitMarkdown(text.toWellFormed(), MOST_TEXT).filter((piece) => piece.trim() !== "");
}

function withPart(sent: EditResult | null, id: string): EditResult {
  return sent === null ? { primary: id, overflow: [] } : { ...sent, overflow: [...sent.overflow, id] };
}

/** A message that was deleted meanwhile is no reason not to answer. */
function replyingTo(id: number | undefined): Parameters<Api["sendMessage"]>[2] {
  if (id === undefined || !Number.isInteger(id)) return {};
  return { reply_parameters: { message_id: id, allow_sending_without_reply: true } };
}

/** A message alone is a new one: it answers no question. */
function howToAnswer({ choices }: WaitingQuestion): string {
  const lines = choices.length === 0 ? ["/answer TEXT"] : choices.map((choice) => `/answer ${choice}`);
  return `Answer with\n${lines.join("\n")}`;
}

/** In the chat with the owner, where nobody else sees them. What is chosen comes as a command. */
function buttons({ address, question }: OutboundMessage): Parameters<Api["sendMessage"]>[2] {
  const { choices = [] } = question ?? {};
  if (choices.length === 0 || choices.length > MOST_CHOICES || chatOf(address.conversation).chat < 0) return {};
  if (choices.some((choice) => choice.length > MOST_CHOICE || choice.includes("\n"))) return {};
  const keyboard = choices.map((choice) => [{ text: `/answer ${choice}` }]);
  return { reply_markup: { keyboard, one_time_keyboard: true, resize_keyboard: true } };
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
