/** What a transcript row may hold: text that PostgreSQL can store, cut at the specification's bounds ("Limits"). */

/** Length of `content` and `tool_result` at which the server cuts, in UTF-16 code units. */
export const CAP = 16_000;

/** Nesting at which JSON is refused rather than stored: PostgreSQL's parser and ours recurse. */
const MAX_JSON_DEPTH = 512;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface Capped {
  readonly text: string;
  readonly truncated: boolean;
  /** Length of the uncut text, in UTF-16 code units. */
  readonly fullLength: number;
}

/** Cuts to at most `limit` UTF-16 code units, never inside a surrogate pair, and leaves no mark. */
export function cap(text: string, limit: number = CAP): Capped {
  const fullLength = text.length;
  if (fullLength <= limit) return { text, truncated: false, fullLength };
  const end = splitsPair(text, limit) ? limit - 1 : limit;
  return { text: text.slice(0, Math.max(0, end)), truncated: true, fullLength };
}

/** Replaces NUL bytes and lone surrogates, which PostgreSQL refuses, with U+FFFD; the length stays the same. */
export function sanitize(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\uFFFD") : wellFormed;
}

/**
 * The value as JSON carries it (undefined members dropped, dates as text), every string and key sanitized.
 * Throws a RangeError when it nests deeper than 512 levels, a TypeError when it is circular.
 */
export function sanitizeJson(value: unknown): Json {
  const text = JSON.stringify(value, (_key, member: unknown) => (typeof member === "bigint" ? String(member) : member));
  if (text === undefined) return null;
  return clean(JSON.parse(text) as Json, 0);
}

function clean(value: Json, depth: number): Json {
  if (typeof value === "string") return sanitize(value);
  if (value === null || typeof value !== "object") return value;
  if (depth >= MAX_JSON_DEPTH) throw new RangeError(`JSON nests deeper than ${MAX_JSON_DEPTH} levels`);
  if (isArray(value)) return value.map((member) => clean(member, depth + 1));
  // A null prototype, so that a member named __proto__ stays a member.
  const result: Record<string, Json> = Object.create(null);
  for (const [key, member] of Object.entries(value)) result[sanitize(key)] = clean(member, depth + 1);
  return result;
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function splitsPair(text: string, index: number): boolean {
  return isHighSurrogate(text.charCodeAt(index - 1)) && isLowSurrogate(text.charCodeAt(index));
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
