/** Sends, edits and removes messages of a bot: in parts where they are longer than Slack takes. Nothing in them notifies anybody. */

import { LRUCache } from "lru-cache";
import type { Attachment, OutboundMessage } from "../../../contracts/channel.ts";
import { ChannelError } from "../../../contracts/errors.ts";
import { splitMarkdown } from "../../../domain/fenced-pieces.ts";
import { changeParts, idsOf, type PartedMessages, repeatNote, type SaidBefore, sendParts } from "../parts.ts";
import { isTime, type SlackAddress, slackAddress } from "./address.ts";
import type { Content, SlackApi } from "./api.ts";
import { isRefused, refusalOf } from "./errors.ts";
import { buttons, typedAnswer } from "./questions.ts";
import { asTyped, escaped } from "./text.ts";

export interface Messages extends PartedMessages {
  react(conversation: string, messageId: string, emoji: string): Promise<void>;
  /** A text of the service's own. */
  say(conversation: string, text: string, before: SaidBefore): Promise<unknown>;
}

/** Characters of a message as it is sent (chat.update, `msg_too_long`): what is longer could not be changed. */
const MOST_TEXT = 4_000;

/** Names of emoji on Slack: it takes nothing else. */
const EMOJI: ReadonlyMap<string, string> = new Map([["👀", "eyes"]]);

/** Sends one part of a message; resolves to its id. */
type Part = () => Promise<string>;

export function createMessages(api: SlackApi): Messages {
  /** Texts of messages that this process has sent or changed last: a draft that grows changes its last message. */
  const texts = new LRUCache<string, string>({ max: 500 });

  async function create(address: SlackAddress, content: Content): Promise<string> {
    const id = await api.post(address, content);
    texts.set(`${address.channel}:${id}`, content.text);
    return id;
  }

  async function change(channel: string, id: string, text: string): Promise<void> {
    const key = `${channel}:${id}`;
    // Unknown until it is answered.
    texts.delete(key);
    await api.change(channel, id, { text });
    texts.set(key, text);
  }

  async function remove(channel: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (!isTime(id)) continue;
      await api.remove(channel, id).catch((error: unknown) => {
        // One that is gone, or that may not be deleted, is no reason to send the reply again.
        if (!isRefused(error)) throw error;
      });
    }
  }

  function partsOf(
    message: OutboundMessage,
    shown: readonly string[],
  ): { readonly written: number; readonly parts: readonly Part[] } {
    const { text, notice, question, attachments = [] } = message;
    const address = slackAddress(message.address.conversation);
    const choice = question && buttons(question);
    const answer = question && choice === undefined ? typedAnswer(question) : undefined;
    const sent = idsOf(message.sent).length;
    const repeat = repeatNote(message);
    const texts = withNote(pieces(text), [notice, answer].filter(Boolean).join("\n\n"));
    // The parts that were sent are the same ones at each attempt: a note that has no room in the last text comes at the end.
    const repeated = withNote(texts, repeat);
    const hasRoom = repeated.length === texts.length && sent < texts.length;
    const written = (hasRoom ? repeated : texts).map(
      (piece, index): Part =>
        async () => {
          const draft = shown[index];
          if (draft === undefined) return create(address, { text: piece });
          try {
            await change(address.channel, draft, piece);
            return draft;
          } catch (error) {
            // It was deleted, or cannot be changed any more.
            if (!isRefused(error)) throw error;
            return create(address, { text: piece });
          }
        },
    );
    const files = attachments.map(
      (file): Part =>
        () =>
          sendFile(address, file),
    );
    const asked = choice === undefined ? [] : [() => create(address, choice)];
    const last = repeat === "" || hasRoom ? [] : [() => create(address, { text: repeat })];
    return { written: written.length, parts: [...written, ...files, ...asked, ...last] };
  }

  async function sendFile(address: SlackAddress, { name, data }: Attachment): Promise<string> {
    const bytes = Buffer.from(data, "base64");
    const sentence = (why: string) => create(address, { text: escaped(`The file ${name} could not be sent: ${why}`) });
    if (bytes.length === 0) return sentence("it is empty.");
    try {
      return await api.upload(address, { name, bytes });
    } catch (error) {
      if (!isRefused(error)) throw error;
      return sentence(refusalOf(error));
    }
  }

  return {
    async send(message, keep) {
      const shown = idsOf(message.draft);
      const { written, parts } = partsOf(message, shown);
      const sent = await sendParts(parts, message.sent, keep);
      await remove(slackAddress(message.address.conversation).channel, shown.slice(written));
      return sent;
    },
    async edit(conversation, messageId, text, overflowIds = [], signal, keep) {
      const address = slackAddress(conversation);
      const { channel } = address;
      return changeParts([messageId, ...overflowIds], pieces(text), {
        async put(id, piece) {
          if (id === undefined) return create(address, { text: piece });
          if (texts.get(`${channel}:${id}`) !== piece) await change(channel, id, piece);
          return id;
        },
        remove: (ids) => remove(channel, ids),
        signal,
        keep,
      });
    },
    async react(conversation, messageId, emoji) {
      const name = EMOJI.get(emoji);
      if (name === undefined)
        throw new ChannelError("CHANNEL_REFUSED", "Slack's name of this emoji is not in the list.");
      await api.react(slackAddress(conversation).channel, messageId, name);
    },
    async say(conversation, text, { sent, keep }) {
      const address = slackAddress(conversation);
      const parts = pieces(asTyped(text)).map((piece) => () => api.post(address, { text: piece }));
      return sendParts(parts, sent, keep);
    },
  };
}

/** Escaped. Three characters become several, so that the pieces may have to be shorter; Slack refuses what is white space alone. */
export function pieces(text: string): string[] {
  const wellFormed = text.toWellFormed();
  for (let limit = MOST_TEXT; ; limit /= 2) {
    const split = splitMarkdown(wellFormed, limit).map(escaped);
    if (split.every((piece) => piece.length <= MOST_TEXT)) return split.filter((piece) => piece.trim() !== "");
  }
}

/** Behind the last piece where it has room there. */
function withNote(texts: readonly string[], note: string): readonly string[] {
  const last = texts.at(-1);
  if (note === "") return texts;
  const text = `${last}\n\n${escaped(note.toWellFormed())}`;
  if (last === undefined || text.length > MOST_TEXT) return [...texts, ...pieces(note)];
  return [...texts.slice(0, -1), text];
}
