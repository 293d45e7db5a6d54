/** A page of messages without what only programs need: disk pointers and other metadata, empty fields. */

import { isRecord } from "../../../contracts/values.ts";
import { without } from "../shared/records.ts";

const NOISE = new Set(["metadata"]);

/** Pure. Unknown shapes pass unchanged: the memory tools own them. */
export function presentMessages(result: unknown): unknown {
  if (!isRecord(result) || !Array.isArray(result["messages"])) return result;
  const messages = result["messages"].map((message) => (isRecord(message) ? without(message, NOISE) : message));
  const { next_cursor = null, looked_until } = result;
  return { next_cursor, ...(looked_until === undefined ? {} : { looked_until }), messages };
}
