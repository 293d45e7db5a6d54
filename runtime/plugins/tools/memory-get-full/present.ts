/** A whole message as far as a prompt can hold it: one long text of it is shown at length, where a list of hits could not. */

import { isRecord } from "../../../contracts/values.ts";
import { without } from "../shared/records.ts";

/** Characters of all values together as JSON; the names of the fields come on top. */
const MOST_CHARS = 18_000;
const NO_NOISE: ReadonlySet<string> = new Set();

/** Pure. Unknown shapes pass unchanged: the memory tools own them. */
export function presentFull(result: unknown): unknown {
  if (!isRecord(result) || typeof result["content"] !== "string") return result;
  const slim = without(result, NO_NOISE);
  const lengths = Object.values(slim).map(jsonLength);
  const share = Math.floor(MOST_CHARS / lengths.length);
  // What short fields do not need is for the long ones, in equal parts.
  const spare = lengths.reduce((sum, length) => sum + Math.max(0, share - length), 0);
  const long = lengths.filter((length) => length > share).length;
  const limit = share + Math.floor(spare / Math.max(1, long));
  return Object.fromEntries(Object.entries(slim).map(([name, value]) => [name, shortened(value, limit)]));
}

/** What is no text is cut as its JSON. */
function shortened(value: unknown, limit: number): unknown {
  if (jsonLength(value) <= limit) return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const kept = beginning(text, limit);
  return `${kept.toWellFormed()}... (${text.length - kept.length} more characters)`;
}

/** As much of the text as has at most `limit` characters as JSON, where line ends and quotes have two. */
function beginning(text: string, limit: number): string {
  let fits = 0;
  let tooLong = Math.min(text.length, limit) + 1;
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (jsonLength(text.slice(0, middle)) <= limit) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits);
}

function jsonLength(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
