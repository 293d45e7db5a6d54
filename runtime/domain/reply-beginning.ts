/**
 * The beginning of a text, of which a conversation gets no more until it is a whole reply: a model that repeats itself until it is stopped
 * would fill a chat with a thousand messages.
 */

import { splitMarkdown } from "./fenced-pieces.ts";

/** UTF-16 code units: ten messages on Telegram. */
const MOST = 40_000;

/** The text itself where it is no longer; a code block that is cut is closed. */
export function beginningOf(text: string): string {
  const [beginning = ""] = splitMarkdown(text.slice(0, 2 * MOST), MOST);
  return beginning;
}

/** What is said beside the beginning of a text that will not be whole; null where that is all of it. */
export function beginningNote(text: string): string | null {
  if (text.length <= MOST) return null;
  return `This is the beginning of a text of ${text.length.toLocaleString("en")} characters: all of it is stored, and the agent can search it.`;
}
