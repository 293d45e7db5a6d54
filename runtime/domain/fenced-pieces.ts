/**
 * Splits Markdown into messages of at most `limit` UTF-16 code units as `splitText` does, and closes a code block where a message ends
 * within it, so that the next one begins with it again. Without the lines that are added for that the pieces joined are the text.
 * A block that is indented by four spaces and more, in the item of a list, is not closed: at the beginning of a message it would be none.
 */

import { closes, type FenceLine, fenceLines, staysIn } from "./fence-lines.ts";
import { splitText } from "./splitting.ts";

/** UTF-16 units of an opening line that is repeated; a longer one is repeated without its language. */
const MOST_OPENING = 40;
/** For a repeated opening line, and a closing one, each with its line break. */
const RESERVED = 2 * (MOST_OPENING + 2);

/** `limit` is at least 200. */
export function splitMarkdown(text: string, limit: number): string[] {
  if (text.length <= limit) return text === "" ? [] : [text];
  const pieces = splitText(text, limit - RESERVED);
  const fences = fenceLines(text);
  let next = fences.next();
  let open: FenceLine | null = null;
  let end = 0;
  return pieces.map((piece, index) => {
    const opening = open === null ? "" : `${openingOf(open)}\n`;
    end += piece.length;
    for (; !next.done && next.value.index < end; next = fences.next()) open = blockAfter(next.value, open);
    // Behind its quote a block has ended.
    if (open !== null && !staysIn(pieces[index + 1] ?? "", open)) open = null;
    const closing = open === null ? "" : `${piece.endsWith("\n") ? "" : "\n"}${closingOf(open)}`;
    return `${opening}${piece}${closing}`;
  });
}

/** The block that is open behind this line. */
function blockAfter(fence: FenceLine, open: FenceLine | null): FenceLine | null {
  if (open !== null && staysIn(fence.line, open)) return closes(fence, open) ? null : open;
  // A marker longer than an opening line may be is none of a code block.
  return closingOf(fence).length > MOST_OPENING ? null : fence;
}

function openingOf(fence: FenceLine): string {
  return fence.line.length > MOST_OPENING ? closingOf(fence) : fence.line.trim();
}

function closingOf({ quote, marker }: FenceLine): string {
  return quote === "" ? marker : `${quote} ${marker}`;
}
