/** A range of a text's lines as the model reads it: numbered, bounded in lines, in line length and in total. */

import type { Encoding } from "../shared/text-format.ts";

export interface LineRange {
  /** First line, counting from 1. */
  readonly offset: number;
  /** Number of lines. */
  readonly limit: number;
}

const MAX_LINE_CHARS = 2_000;
const MAX_TOTAL_CHARS = 60_000;

/** Pure. What is left out is always said: cut lines, remaining lines and where to go on. */
export function renderLines(text: string, range: LineRange, encoding: Encoding): string {
  const lines = splitLines(text);
  if (lines.length === 0) return "(the file is empty)";
  if (range.offset > lines.length) return `(the file has ${lines.length} lines; there is no line ${range.offset})`;

  const end = Math.min(lines.length, range.offset - 1 + range.limit);
  const width = String(end).length;
  const rendered: string[] = [];
  let total = 0;
  let next = range.offset;
  while (next <= end) {
    const line = `${String(next).padStart(width)}\t${shorten(lines[next - 1] ?? "")}`;
    total += line.length + 1;
    if (total > MAX_TOTAL_CHARS && rendered.length > 0) break;
    rendered.push(line);
    next += 1;
  }
  if (next <= lines.length)
    rendered.push(`(${lines.length - next + 1} more lines of ${lines.length}; go on with offset ${next})`);
  if (encoding !== "utf-8") rendered.push(`(encoding: ${encoding})`);
  return rendered.join("\n");
}

/** A final line ending ends the last line, it does not begin another. */
function splitLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function shorten(line: string): string {
  if (line.length <= MAX_LINE_CHARS) return line;
  const cut = line.slice(0, MAX_LINE_CHARS);
  // Never half of a surrogate pair.
  const whole = cut.isWellFormed() ? cut : cut.slice(0, -1);
  return `${whole} ... (${line.length - whole.length} more characters in this line)`;
}
