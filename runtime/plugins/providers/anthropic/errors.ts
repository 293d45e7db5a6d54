import type Anthropic from "@anthropic-ai/sdk";
import { networkReason } from "../../../contracts/system-errors.ts";
import type { Failure } from "../../shared/model-http/failure.ts";
import { isConnectionLost, readFailure } from "../shared/broken-stream.ts";
import { retryAfterS, type Watch } from "../shared/watch.ts";

/** What went wrong, from whatever the Anthropic SDK throws and what was seen on the wire. */
export function readError(error: unknown, sdk: typeof Anthropic, watch: Watch, timeoutMs: number): Failure {
  const arrival = watch.arrival();
  if (watch.stalled()) return { kind: "silent", timeoutMs, begun: arrival.bytes > 0 };
  const read = readFailure(error, watch);
  if (read !== undefined) return read;
  if (error instanceof sdk.APIConnectionError)
    return { kind: "unreachable", reason: networkReason(error.cause ?? error) };
  if (error instanceof sdk.APIError) {
    const complaint = {
      type: error.type ?? undefined,
      code: error.errorCode ?? undefined,
      message: error.apiMessage ?? plain(arrival.head),
    };
    if (error.status === undefined) return { kind: "event", ...complaint };
    const wait = error.headers === undefined ? undefined : retryAfterS(error.headers);
    return { kind: "status", status: error.status, retryAfterS: wait, ...complaint };
  }
  if (arrival.responded) {
    if (isConnectionLost(error)) return { kind: "truncated" };
    return { kind: "garbage", found: "an event of an unexpected shape" };
  }
  return { kind: "unreachable", reason: networkReason(error) };
}

/** The message of a body that is not in the API's shape; pages and streams have none that helps. */
function plain(body: string): string | undefined {
  const trimmed = body.trim();
  return trimmed === "" || /^(<|event:|data:)/.test(trimmed) ? undefined : trimmed;
}
