/** A whole message as far as a prompt can hold it: one long text of it is shown at length, where a list of hits could not. */

import { isRecord } from "../../../contracts/values.ts";
import { without } from "../shared/records.ts";

/** Characters of all texts together; JSON's own come on top. */
const MOST_CHARS = 18_000;
const NO_NOISE: ReadonlySet<string> = new Set();

/** Pure. Unknown shapes pass unchanged: the memory tools own them. */
export function presentFull(result: unknown): unknown {
  if (!isRecord(result) || typeof result["content"] !== "string") return result;
  const slim = without(result, NO_NOISE);
  const lengths = Object.values(slim).flatMap((value) => (typeof value === "string" ? [value.length] : []));
  const share = Math.floor(MOST_CHARS / lengths.length);
  // What short fields do not need is for the long ones, in equal parts.
  const spare = lengths.reduce((sum, length) => sum + Math.max(0, share - length), 0);
  const long = lengths.filter((length) => length > share).length;
  const limit = share + Math.floor(spare / Math.max(1, long));
  return Object.fromEntries(Object.entries(slim).map(([name, value]) => [name, shortened(value, limit)]));
}

function shortened(value: unknown, limit: number): unknown {
  if (typeof value !== "string" || value.length <= limit) return value;
  return `${value.slice(0, limit).toWellFormed()}... (${value.length - limit} more characters)`;
}
