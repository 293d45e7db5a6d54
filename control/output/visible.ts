/** Text that others wrote, made safe for a terminal. */

/**
 * The text with control characters shown as `\u001b` and the like: an agent's words, a tool's output or a log line could
 * otherwise move the cursor, change the title or hide other text. Newlines and tabs stay; so does other text.
 */
export function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(HARMFUL, (found) => (found === "\n" || found === "\t" ? found : spell(found)));
}

/** The same for what a command prints, whose own colours stay: the only place that every text of a node passes. */
export function visibleExceptMarks(text: string): string {
  return text
    .split(MARK)
    .map((part, index) => (index % 2 === 0 ? visible(part) : part))
    .join("");
}

/** The styles of `Mark`, and what ends them: none of them hides anything. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what a style begins with.
const MARK = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/;

/** Control characters, line and paragraph separators, and what turns the direction of writing. */
const HARMFUL = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** The same for everything inside a parsed JSON value. */
export function visibleJson(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [visible(key), visibleJson(inner)]));
}

function spell(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
