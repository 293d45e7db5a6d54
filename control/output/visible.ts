/** Text that others wrote, made safe for a terminal. */

/**
 * The text with control characters shown as `\u001b` and the like: an agent's words, a tool's output or a log line could
 * otherwise move the cursor, change the title or hide what stands there. Newlines and tabs stay; so does other text.
 */
export function visible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(HARMFUL, (found) => (found === "\n" || found === "\t" ? found : spell(found)));
}

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
