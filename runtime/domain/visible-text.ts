/** Text whose every character can be seen, for a person who is to judge it: nothing in it hides, reorders or pushes away the rest. Pure. */

/** Control and format characters, separators, fillers, blanks other than the space, and what has no meaning yet. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
/** So many are told from fewer by nobody. */
const LONG_BLANK = /[ \t]{20,}/g;
const MOST_BLANK_LINES = 3;

/** Lines stay lines and tabs tabs. Anything else that cannot be seen is shown as `‹U+202E›`, long blanks by their length. */
export function visibleText(text: string): string {
  const lines = text.split("\n").map(visibleLine);
  const shown: string[] = [];
  let blank = 0;
  for (const line of [...lines, null]) {
    if (line?.trim() === "") {
      blank += 1;
      continue;
    }
    shown.push(...(blank > MOST_BLANK_LINES ? [`‹${blank} blank lines›`] : Array<string>(blank).fill("")));
    blank = 0;
    if (line !== null) shown.push(line);
  }
  return shown.join("\n");
}

function visibleLine(line: string): string {
  return line
    .replace(UNSEEN, (found) => (found === "\t" ? found : spelled(found)))
    .replace(LONG_BLANK, (blank) => `‹${blank.length} spaces›`);
}

/** `‹U+202E›` */
export function spelled(character: string): string {
  return `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`;
}
