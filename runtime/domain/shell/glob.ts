/** Matches names against shell globs, in time proportional to both: patterns come from commands and may be made to be slow. */

/** A star, a question mark or a bracket, in which `]` may be first and classes (`[:alpha:]`) may be. */
export const WILD = /\*|\?|\[\]?(?:\[:\w{0,9}:\]|[^\]]){0,64}\]/;
const TOKEN = new RegExp(`\\*+|${WILD.source}|[\\s\\S]`, "g");

/** `*`, `?` and `[...]` (which counts as any one character); everything else is literal. */
export function matchesGlob(pattern: string, name: string): boolean {
  const tokens = pattern.match(TOKEN) ?? [];
  let token = 0;
  let letter = 0;
  let star = -1;
  let resume = 0;
  while (letter < name.length) {
    const current = tokens[token];
    if (current?.startsWith("*")) {
      star = token;
      resume = letter;
      token += 1;
    } else if (current !== undefined && (current === "?" || current.length > 1 || current === name[letter])) {
      token += 1;
      letter += 1;
    } else if (star !== -1) {
      // The last star takes one letter more.
      resume += 1;
      letter = resume;
      token = star + 1;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest.startsWith("*"));
}

export function isGlob(text: string): boolean {
  return WILD.test(text);
}
