/** Text for a terminal of a certain width, broken between words. */

/** Narrower than this nothing can be read anyway. */
const NARROWEST = 24;

/** Words, and commands between backticks, are kept whole; one that is longer than a line has a line of its own, which the terminal breaks. */
export function wrap(text: string, indent: number, width?: number): string[] {
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(NARROWEST, width) - indent;
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    for (const word of paragraph.split(/ (?=(?:[^`]*`[^`]*`)*[^`]*$)/)) {
      const last = lines.at(-1);
      if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
    }
    return lines;
  });
}
