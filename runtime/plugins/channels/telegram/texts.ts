/** Texts of messages: agents write Markdown, which entities show; the service's own words are shown as they are. */

import { isDeepStrictEqual } from "node:util";
import type { MessageEntity } from "grammy/types";
import { splitMarkdown } from "../../../domain/fenced-pieces.ts";
import { type Format, formattedText } from "../../../domain/formatted-text.ts";

export interface Shown {
  readonly text: string;
  readonly entities: MessageEntity[];
}

/** UTF-16 code units of a message (Bot API, sendMessage), and entities of one (Bot API, MessageEntity). */
const MOST_TEXT = 4_096;
const MOST_ENTITIES = 100;

/** Split as Markdown, then shown: what is shown is no longer than its source. */
export function formatted(markdown: string): Shown[] {
  return pieces(markdown).map((piece) => {
    const { text, formats } = formattedText(piece);
    return { text, entities: formats.slice(0, MOST_ENTITIES).map(entityOf) };
  });
}

export function plain(text: string): Shown[] {
  return pieces(text).map((piece) => ({ text: piece, entities: [] }));
}

/** Behind the last text where they have room there. */
export function withNotes(texts: readonly Shown[], notes: string): readonly Shown[] {
  const last = texts.at(-1);
  if (notes === "") return texts;
  const text = `${last?.text}\n\n${notes}`;
  if (last === undefined || text.length > MOST_TEXT) return [...texts, ...plain(notes)];
  return [...texts.slice(0, -1), { ...last, text: text.toWellFormed() }];
}

export function isSame(one: Shown | undefined, other: Shown): boolean {
  return isDeepStrictEqual(one, other);
}

/** Telegram refuses what is white space alone. */
function pieces(text: string): string[] {
  return splitMarkdown(text.toWellFormed(), MOST_TEXT).filter((piece) => piece.trim() !== "");
}

function entityOf({ type, offset, length, language, url }: Format): MessageEntity {
  if (type === "text_link") return { type, offset, length, url: url ?? "" };
  return type === "pre" ? { type, offset, length, ...(language ? { language } : {}) } : { type, offset, length };
}
