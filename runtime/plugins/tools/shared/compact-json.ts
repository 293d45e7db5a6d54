/** JSON text of bounded size: long strings are shortened first, then the ends of long lists are left out. Pure. */

const MAX_CHARS = 24_000;
const STRING_LIMITS = [4_000, 2_000, 1_000, 500, 250, 120];

/**
 * At most `maxChars` characters, always valid JSON. A shortened string ends in a mark with the number of characters left
 * out; a shortened list ends in `"... (n more: ask for fewer at once)"`.
 */
export function compactJson(value: unknown, maxChars = MAX_CHARS): string {
  const whole = JSON.stringify(value) ?? "null";
  if (whole.length <= maxChars) return whole;
  let text = whole;
  for (const limit of STRING_LIMITS) {
    text = JSON.stringify(shortenStrings(value, limit));
    if (text.length <= maxChars) return text;
  }
  let shortened = shortenStrings(value, STRING_LIMITS.at(-1) ?? 0);
  for (let limit = longestList(shortened); limit > 0; limit = Math.floor(limit / 2)) {
    shortened = shortenLists(shortened, limit);
    text = JSON.stringify(shortened);
    if (text.length <= maxChars) return text;
  }
  return JSON.stringify({ error: "the result is too long to be shown", characters: whole.length });
}

function shortenStrings(value: unknown, limit: number): unknown {
  if (typeof value === "string") return shortenString(value, limit);
  return mapChildren(value, (child) => shortenStrings(child, limit));
}

function shortenString(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit).toWellFormed();
  return `${cut}... (${text.length - limit} more characters)`;
}

function shortenLists(value: unknown, limit: number): unknown {
  if (Array.isArray(value) && value.length > limit) {
    const kept = value.slice(0, limit).map((item) => shortenLists(item, limit));
    return [...kept, `... (${value.length - limit} more: ask for fewer at once)`];
  }
  return mapChildren(value, (child) => shortenLists(child, limit));
}

function longestList(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((longest, item) => Math.max(longest, longestList(item)), value.length);
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((longest: number, item) => Math.max(longest, longestList(item)), 0);
}

function mapChildren(value: unknown, change: (child: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, change(child)]));
}
