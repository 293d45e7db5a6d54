import { networkReason } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { Failure } from "../../shared/model-http/failure.ts";
import { isConnectionLost, readFailure } from "../shared/broken-stream.ts";
import { Refusal } from "../shared/resend.ts";
import type { Watch } from "../shared/watch.ts";

/** What went wrong, from the response, from whatever the SDK throws and what was seen on the wire. */
export function readError(error: unknown, watch: Watch, timeoutMs: number): Failure {
  const arrival = watch.arrival();
  if (watch.stalled()) return { kind: "silent", timeoutMs, begun: arrival.bytes > 0 };
  const read = readFailure(error, watch);
  if (read !== undefined) return read;
  if (error instanceof Refusal) {
    const message = messageOf(error.body);
    return { kind: "status", status: error.status, retryAfterS: error.retryAfterS, ...(message ? { message } : {}) };
  }
  if (!arrival.responded) return { kind: "unreachable", reason: networkReason(error) };
  if (isConnectionLost(error)) return { kind: "truncated" };
  return { kind: "garbage", found: "a line of an unexpected shape" };
}

/** What the model wrote, where the server says that it could not read a call; it says so in words alone, before the answer or in it. */
export function unreadCall(error: unknown, watch: Watch): string | undefined {
  const failure = readError(error, watch, 0);
  const said = failure.kind === "event" || failure.kind === "status" ? (failure.message ?? "") : "";
  return /^error parsing tool call: raw='(.*)', err=/s.exec(said)?.[1];
}

/** `{ "error": "..." }`, or the plain words of a proxy; a page has none that help. */
function messageOf(body: string): string | undefined {
  const trimmed = body.trim();
  try {
    const value: unknown = JSON.parse(trimmed);
    if (isRecord(value) && typeof value["error"] === "string") return value["error"];
  } catch {
    // Not JSON: words.
  }
  return trimmed === "" || trimmed.startsWith("<") ? undefined : trimmed;
}
