/** Sends, edits and removes messages of a bot: in parts where they are longer than Discord takes. Nothing in them notifies anybody. */

import { createHash } from "node:crypto";
import { type APIMessageTopLevelComponent, ButtonStyle, ComponentType } from "discord-api-types/v10";
import { LRUCache } from "lru-cache";
import type { Attachment, OutboundMessage } from "../../../contracts/channel.ts";
import type { WaitingQuestion } from "../../../contracts/stream.ts";
import { splitMarkdown } from "../../../domain/fenced-pieces.ts";
import { choicesOf, howToAnswer } from "../choices.ts";
import { changeParts, idsOf, type PartedMessages, repeatNote, type SaidBefore, sendParts } from "../parts.ts";
import type { DiscordApi, MessageBody } from "./api.ts";
import { isRefused, refusalOf } from "./errors.ts";
import { isSnowflake } from "./positions.ts";

export interface Messages extends PartedMessages {
  react(conversation: string, messageId: string, emoji: string): Promise<void>;
  /** A text of the service's own. `replyTo`: id of the message that it answers. */
  say(conversation: string, text: string, answer: SaidBefore & { readonly replyTo: string }): Promise<unknown>;
}

/** Characters of a message (Discord, Create Message); a character outside the BMP is one, or two: they are counted as two. */
export const MOST_TEXT = 2_000;
/** Bytes of a file of a bot, where the server pays for no more. */
export const MOST_FILE = 10 * 1024 ** 2;
/** Rows of buttons, buttons of a row, characters of a button's text and of its id. */
const MOST_ROWS = 5;
const ROW = 5;
const MOST_LABEL = 80;
const MOST_ID = 100;

/** Text of an agent notifies nobody, whatever it mentions. */
const QUIET = { allowed_mentions: { parse: [], replied_user: false } } as const satisfies MessageBody;

type Part = (more: MessageBody) => Promise<{ readonly id: string }>;

export function createMessages(api: DiscordApi): Messages {
  /** Texts of messages that this process has sent or changed last: a draft that grows changes its last message. */
  const texts = new LRUCache<string, string>({ max: 500 });

  async function create(conversation: string, content: string, more: MessageBody) {
    const made = await api.createMessage(conversation, { content, ...more });
    texts.set(made.id, content);
    return made;
  }

  async function change(conversation: string, id: string, content: string): Promise<void> {
    // Unknown until it is answered.
    texts.delete(id);
    await api.editMessage(conversation, id, { content, ...QUIET });
    texts.set(id, content);
  }

  async function remove(conversation: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      await api.deleteMessage(conversation, id).catch((error: unknown) => {
        // One that is gone, or that may not be deleted, is no reason to send the reply again.
        if (!isRefused(error)) throw error;
      });
    }
  }

  function partsOf(
    message: OutboundMessage,
    shown: readonly string[],
  ): { readonly written: number; readonly parts: readonly Part[] } {
    const { address, text, notice, question, attachments = [] } = message;
    const { conversation } = address;
    const whole = [text, notice, question && howToAnswer(question)].filter(Boolean).join("\n\n");
    const texts = pieces(whole);
    // The parts that were sent are the same ones at each attempt: a note that has no room in the last text comes at the end.
    const last = texts.at(-1) ?? "";
    const sent = idsOf(message.sent).length;
    const repeat = repeatNote(message);
    const hasRoom = sent < texts.length && last.length + repeat.length + 2 <= MOST_TEXT;
    const repeated = repeat !== "" && hasRoom ? [...texts.slice(0, -1), `${last}\n\n${repeat}`] : texts;
    const written = repeated.map(
      (content, index): Part =>
        async (more) => {
          const draft = shown[index];
          if (draft === undefined) return create(conversation, content, more);
          try {
            await change(conversation, draft, content);
            return { id: draft };
          } catch (error) {
            // It was deleted, or cannot be changed any more.
            if (!isRefused(error)) throw error;
            return create(conversation, content, more);
          }
        },
    );
    const files = attachments.map(
      (file): Part =>
        (more) =>
          sendFile(conversation, file, more),
    );
    const note: Part[] = repeat === "" || hasRoom ? [] : [(more) => create(conversation, repeat, more)];
    return { written: written.length, parts: [...written, ...files, ...note] };
  }

  async function sendFile(conversation: string, { name, mediaType, data }: Attachment, more: MessageBody) {
    const bytes = Buffer.from(data, "base64");
    const sentence = (why: string) =>
      api.createMessage(conversation, { content: cut(`The file ${name} could not be sent: ${why}`), ...more });
    if (bytes.length > MOST_FILE) return sentence("it is larger than the 10 MB that Discord takes.");
    try {
      return await api.createMessage(conversation, more, [{ name, data: bytes, contentType: mediaType }]);
    } catch (error) {
      if (!isRefused(error) || error.status === 403 || error.status === 404) throw error;
      return sentence(refusalOf(error));
    }
  }

  return {
    async send(message, keep) {
      const shown = idsOf(message.draft);
      const { written, parts } = partsOf(message, shown);
      const sending = parts.map((part, index) => async () => {
        const isLast = index === parts.length - 1;
        const { id } = await part({
          ...QUIET,
          ...once(message, index),
          ...(index === 0 ? replyingTo(message.replyTo) : {}),
          ...(isLast ? buttons(message.question) : {}),
        });
        return id;
      });
      const sent = await sendParts(sending, message.sent, keep);
      await remove(message.address.conversation, shown.slice(written));
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = [], signal, keep) {
      return changeParts([messageId, ...overflowIds], pieces(text), {
        async put(id, content) {
          if (id === undefined) return (await create(conversation, content, QUIET)).id;
          if (texts.get(id) !== content) await change(conversation, id, content);
          return id;
        },
        remove: (ids) => remove(conversation, ids),
        signal,
        keep,
      });
    },
    react: (conversation, messageId, emoji) => api.react(conversation, messageId, emoji),
    async say(conversation, text, { replyTo, sent, keep }) {
      const parts = pieces(text).map((content, index) => async () => {
        const more = { ...QUIET, ...nonceOf([conversation, replyTo, text, index]) };
        const reference = index === 0 ? replyingTo(replyTo) : {};
        return (await api.createMessage(conversation, { content, ...more, ...reference })).id;
      });
      return sendParts(parts, sent, keep);
    },
  };
}

/** Discord refuses what is white space alone. */
function pieces(text: string): string[] {
  return splitMarkdown(text.toWellFormed(), MOST_TEXT).filter((piece) => piece.trim() !== "");
}

/** One message of it, for what has room for one only. */
export function cut(text: string): string {
  const [first = "Done."] = pieces(text);
  return first;
}

/** A part that was sent just before a crash is not sent again. Later it is, and says that it may be the second one. */
function once({ address, turnId, id, text, notice, question }: OutboundMessage, part: number): MessageBody {
  // A turn may send several messages: questions, and its reply.
  return nonceOf([address.channel, address.conversation, turnId, id, question?.id, text, notice, part]);
}

/** Discord makes no second message with the same nonce for some minutes, whatever it says. */
function nonceOf(what: readonly unknown[]): MessageBody {
  const hash = createHash("sha256").update(JSON.stringify(what));
  return { nonce: hash.digest("base64url").slice(0, 25), enforce_nonce: true };
}

/** A message that was deleted meanwhile is no reason not to answer. */
function replyingTo(id: string | undefined): MessageBody {
  return isSnowflake(id) ? { message_reference: { message_id: id, fail_if_not_exists: false } } : {};
}

/** What is chosen comes as an interaction with the button's id. */
function buttons(question: WaitingQuestion | undefined): MessageBody {
  if (question === undefined) return {};
  const choices = choicesOf(question);
  if (choices.length === 0 || choices.length > MOST_ROWS * ROW) return {};
  if (choices.some(({ label, value }) => label.trim() === "" || label.length > MOST_LABEL || value.length > MOST_ID))
    return {};
  const rows = Array.from({ length: Math.ceil(choices.length / ROW) }, (_, row): APIMessageTopLevelComponent => {
    const components = choices.slice(row * ROW, (row + 1) * ROW).map(({ label, value }) => ({
      type: ComponentType.Button as const,
      style: ButtonStyle.Secondary as const,
      label,
      custom_id: value,
    }));
    return { type: ComponentType.ActionRow, components };
  });
  return { components: rows };
}
