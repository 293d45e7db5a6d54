/** What a model is shown of a payload that may be megabytes long: as much as fits, with a note of what is missing at its place. */

/** How much of a shortened text is its head; the end of a result has its outcome. */
const HEAD_SHARE = 0.6;
/** Bounds that are tried in turn for each text inside a value. */
const LEAF_LIMITS = [2_000, 500, 120] as const;
const MOST_ITEMS = [50, 20, 8] as const;
const DEEPEST = 8;

/** A text of at most `limit` UTF-16 units, the note of what is left out not counted. */
export function shortenText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = text.slice(0, wholeBefore(text, Math.ceil(limit * HEAD_SHARE)));
  const tail = text.slice(wholeAfter(text, text.length - Math.floor(limit * (1 - HEAD_SHARE))));
  const missing = text.length - head.length - tail.length;
  return `${head}\n[... ${missing} characters left out ...]\n${tail}`;
}

/** JSON of a value in about `limit` units: long texts, long lists and deep parts of it are shortened first. */
export function shortenValue(value: unknown, limit: number): string {
  const whole = JSON.stringify(value, null, 1) ?? "null";
  if (whole.length <= limit) return whole;
  for (const [index, leaf] of LEAF_LIMITS.entries()) {
    const shorter = JSON.stringify(reduced(value, leaf, MOST_ITEMS[index] ?? 8, 0), null, 1);
    if (shorter.length <= limit) return shorter;
  }
  return shortenText(whole, limit);
}

function reduced(value: unknown, leaf: number, items: number, depth: number): unknown {
  if (typeof value === "string") return shortenText(value, leaf);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) return `[... ${JSON.stringify(value).length} characters left out ...]`;
  if (Array.isArray(value)) {
    const kept = value.slice(0, items).map((item) => reduced(item, leaf, items, depth + 1));
    return value.length > items ? [...kept, `[... ${value.length - items} more items left out ...]`] : kept;
  }
  const entries = Object.entries(value);
  const kept = entries.slice(0, items).map(([key, item]) => [key, reduced(item, leaf, items, depth + 1)] as const);
  const rest = entries.length - kept.length;
  return Object.fromEntries(rest > 0 ? [...kept, ["...", `[... ${rest} more fields left out ...]`]] : kept);
}

/** An end that parts no surrogate pair. */
function wholeBefore(text: string, end: number): number {
  return isHighSurrogate(text, end - 1) ? end - 1 : end;
}

function wholeAfter(text: string, start: number): number {
  return isHighSurrogate(text, start - 1) ? start + 1 : start;
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}
