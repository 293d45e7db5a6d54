/**
 * Splits Markdown into messages of at most `limit` UTF-16 code units as `splitText` does, and closes a code block where a message ends
 * within it, so that the next one begins with it again. Without the lines that are added for that the pieces joined are the text.
 */

import { splitText } from "./splitting.ts";

/** UTF-16 units of an opening line that is repeated; a longer one is repeated without its language. */
const MOST_OPENING = 40;
/** For a repeated opening line, and a closing one, each with its line break. */
const RESERVED = 2 * (MOST_OPENING + 2);

interface Fence {
  /** The backticks or tildes. */
  readonly marker: string;
  /** The line that is repeated. */
  readonly opening: string;
}

/** `limit` is at least 200. */
export function splitMarkdown(text: string, limit: number): string[] {
  if (text.length <= limit) return text === "" ? [] : [text];
  let open: Fence | null = null;
  let atLineStart = true;
  return splitText(text, limit - RESERVED).map((piece) => {
    const before: Fence | null = open;
    open = fenceAfter(piece, before, atLineStart);
    atLineStart = piece.endsWith("\n");
    const opening = before === null ? "" : `${before.opening}\n`;
    const closing = open === null ? "" : `${atLineStart ? "" : "\n"}${open.marker}`;
    return `${opening}${piece}${closing}`;
  });
}

function fenceAfter(piece: string, before: Fence | null, atLineStart: boolean): Fence | null {
  let open = before;
  const lines = atLineStart ? piece : piece.slice(piece.indexOf("\n") + 1 || piece.length);
  for (const [line, marker = "", info = ""] of lines.matchAll(/^ {0,3}(`{3,}|~{3,})([^\n]*)/gm)) {
    if (open === null) open = { marker, opening: line.length > MOST_OPENING ? marker : line.trim() };
    else if (marker.startsWith(open.marker) && info.trim() === "") open = null;
  }
  // A marker longer than an opening line may be is none of a code block.
  return open !== null && open.marker.length > MOST_OPENING ? null : open;
}
