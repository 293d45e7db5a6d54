/** Text for a terminal of a certain width, broken between words. */
import { stripVTControlCharacters } from "node:util";

/** Narrower than this nothing can be read anyway. */
const NARROWEST = 24;

/** Words, and commands between backticks, are kept whole; one that is longer than a line has a line of its own, which the terminal breaks. */
export function wrap(text: string, indent: number, width?: number): string[] {
  // A terminal that does not know its size says 0.
  const room = width ? Math.max(NARROWEST, width) - indent : Number.POSITIVE_INFINITY;
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    for (const word of paragraph.split(/ (?=(?:[^`]*`[^`]*`)*[^`]*$)/)) {
      const last = lines.at(-1);
      if (last !== undefined && seen(last) + 1 + seen(word) <= room) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  });
}

/** Columns, without what gives colour. */
function seen(text: string): number {
  return stripVTControlCharacters(text).length;
}
