/**
 * Splits Markdown into messages of at most `limit` UTF-16 code units as `splitText` does, and closes a code block where a message ends
 * within it, so that the next one begins with it again. Without what is added for that the pieces joined are the text.
 * A block that is indented by four spaces and more, in the item of a list, is not closed: at the beginning of a message it would be none.
 */

import { codeBlocks, type FenceLine } from "./fence-lines.ts";
import { splitText } from "./splitting.ts";

/** UTF-16 units of an opening line that is repeated; a longer one is repeated without its language. */
const MOST_OPENING = 40;
/** For a repeated opening line, the marks of its quote, and a closing line, each with its line break. */
const RESERVED = 3 * (MOST_OPENING + 2);

/** `limit` is at least 200. */
export function splitMarkdown(text: string, limit: number): string[] {
  if (text.length <= limit) return text === "" ? [] : [text];
  const blocks = codeBlocks(text);
  let block = blocks.next();
  let open: FenceLine | null = null;
  let before = "\n";
  let end = 0;
  return splitText(text, limit - RESERVED).map((piece) => {
    const opening = open === null ? "" : `${openingOf(open)}\n${before.endsWith("\n") ? "" : marksOf(open)}`;
    before = piece;
    end += piece.length;
    while (!block.done && block.value.end <= end) block = blocks.next();
    open = !block.done && block.value.begin < end ? repeatable(block.value.opening) : null;
    const closing = open === null ? "" : `${piece.endsWith("\n") ? "" : "\n"}${closingOf(open)}`;
    return `${opening}${piece}${closing}`;
  });
}

/** A block whose marker is longer than an opening line may be is not begun again. */
function repeatable(fence: FenceLine): FenceLine | null {
  return closingOf(fence).length > MOST_OPENING ? null : fence;
}

function openingOf(fence: FenceLine): string {
  return fence.line.length > MOST_OPENING ? closingOf(fence) : fence.line.trim();
}

function closingOf(fence: FenceLine): string {
  return `${marksOf(fence)}${fence.marker}`;
}

/** Also in front of the rest of a line that was cut, which would end the quote. */
function marksOf({ quote }: FenceLine): string {
  return quote === "" ? "" : `${quote} `;
}
