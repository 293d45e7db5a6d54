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
