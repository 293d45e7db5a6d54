import type { Failure } from "../../shared/model-http/failure.ts";
import { StreamFault } from "./stream-fault.ts";
import type { Arrival, Watch } from "./watch.ts";

/** What it means that a stream broke off, from what the SDK throws and what was seen on the wire. */

/** The stream ended without its final event: cut off, or never a stream at all. */
export function endedEarly(watch: Watch, events: number): StreamFault {
  const arrival = watch.arrival();
  if (events === 0 && arrival.bytes > 0 && !looksLikeEvents(arrival)) {
    return somethingElse(watch, "an event stream");
  }
  return new StreamFault({ kind: "truncated" });
}

/** The body is not what was asked for, from its beginning. */
export function somethingElse(watch: Watch, expected: string): StreamFault {
  return new StreamFault({
    kind: "garbage",
    found: `expected ${expected}, got ${contentType(watch.arrival().contentType)}`,
  });
}

/** What an error means that was thrown while the answer was read; undefined when the SDK's own error is better. */
export function readFailure(error: unknown, watch: Watch): Failure | undefined {
  if (error instanceof StreamFault) return error.failure;
  const arrival = watch.arrival();
  if (!arrival.responded) return undefined;
  if (error instanceof SyntaxError) {
    // The decoder hands over what is left when the body ends: half a line is a cut, not nonsense.
    if (arrival.ended && looksLikeEvents(arrival)) return { kind: "truncated" };
    return { kind: "garbage", found: "an event that is not JSON" };
  }
  return undefined;
}

/** Whether an error of fetch means that the connection broke while the body was read. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof TypeError && /terminated|network|closed|reset|aborted/i.test(error.message);
}

function contentType(header: string): string {
  const type = header.split(";")[0]?.trim().toLowerCase() ?? "";
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "something else";
}

/** Whether a body that begins like this could be an event stream that was cut, rather than something else altogether. */
function looksLikeEvents(arrival: Arrival): boolean {
  const head = arrival.head.replace(/^\ufeff?[\r\n]*/, "");
  if (head === "") return true;
  return ["data:", "event:", "id:", "retry:", ":"].some((field) => head.startsWith(field) || field.startsWith(head));
}
