/** The lines of a file's bytes that a pattern matches, with those around them. Pure. */

import { isAscii } from "node:buffer";
import { decodeText } from "../text-format.ts";
import type { FoundLine, TextPattern } from "./messages.ts";

export interface LineMatcher {
  /** Empty where nothing matches, and for binary content. At most `limit` matching lines; no more than one with a context of null. */
  find(bytes: Buffer, limit: number, context: number | null): readonly FoundLine[];
}

/** Of a line; more is shown of none. */
const MAX_LINE_CHARS = 400;

export function createLineMatcher({ source, ignoreCase, literal }: TextPattern): LineMatcher {
  const flags = ignoreCase ? "iu" : "u";
  const line = new RegExp(source, flags);
  // What matches a line matches the text, too, unless it looks beyond the line's end.
  const text = /\(\?<?[=!]/.test(source) ? null : new RegExp(source, `${flags}m`);
  const needle = literal === null || ignoreCase ? null : Buffer.from(literal, "latin1");
  return {
    find(bytes, limit, context) {
      const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
      if (!isUtf16 && ((needle !== null && !bytes.includes(needle)) || bytes.includes(0))) return [];
      const content = isAscii(bytes) ? bytes.toString("latin1") : decodeText(bytes)?.text;
      if (content === undefined || (text !== null && !text.test(content))) return [];
      return linesOf(content, line, limit, context);
    },
  };
}

function linesOf(content: string, pattern: RegExp, limit: number, context: number | null): readonly FoundLine[] {
  const lines = content.split(/\r?\n/);
  // A final line ending ends the last line.
  if (lines.at(-1) === "") lines.pop();
  const matching: number[] = [];
  for (const [index, text] of lines.entries()) {
    if (!pattern.test(text)) continue;
    matching.push(index);
    if (context === null || matching.length >= limit) break;
  }
  const isMatch = new Set(matching);
  const around = context ?? 0;
  const shown = new Set(
    matching.flatMap((index) => Array.from({ length: 2 * around + 1 }, (_, offset) => index - around + offset)),
  );
  return [...shown]
    .filter((index) => index >= 0 && index < lines.length)
    .sort((a, b) => a - b)
    .map((index) => ({
      number: index + 1,
      text: shortened(lines[index] ?? "", isMatch.has(index) ? pattern : null),
      isMatch: isMatch.has(index),
    }));
}

/** Of a long line the part around the match. */
function shortened(text: string, pattern: RegExp | null): string {
  if (text.length <= MAX_LINE_CHARS) return text;
  const at = pattern?.exec(text)?.index ?? 0;
  const from = Math.max(0, Math.min(at - MAX_LINE_CHARS / 4, text.length - MAX_LINE_CHARS));
  const part = text.slice(from, from + MAX_LINE_CHARS).toWellFormed();
  return `${from > 0 ? "..." : ""}${part}${from + MAX_LINE_CHARS < text.length ? "..." : ""} (${text.length} characters)`;
}
