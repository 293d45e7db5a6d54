import type OpenAI from "openai";
import { networkReason } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { Complaint, Failure } from "../../shared/model-http/failure.ts";
import { isConnectionLost, readFailure } from "../shared/broken-stream.ts";
import { retryAfterS, type Watch } from "../shared/watch.ts";

/** What went wrong, from whatever the openai SDK throws and what was seen on the wire. */
export function readError(error: unknown, sdk: typeof OpenAI, watch: Watch, timeoutMs: number): Failure {
  const arrival = watch.arrival();
  if (watch.stalled()) return { kind: "silent", timeoutMs, begun: arrival.bytes > 0 };
  const read = readFailure(error, watch);
  if (read !== undefined) return read;
  if (error instanceof sdk.APIConnectionError)
    return { kind: "unreachable", reason: networkReason(error.cause ?? error) };
  if (error instanceof sdk.APIError) {
    const complaint = {
      ...complaintOf(error.error),
      type: error.type,
      code: text(error.code),
      param: error.param ?? undefined,
    };
    if (error.status === undefined) return { kind: "event", status: statusIn(error.error), ...complaint };
    const wait = error.headers === undefined ? undefined : retryAfterS(error.headers);
    return {
      kind: "status",
      status: error.status,
      retryAfterS: wait,
      ...complaint,
      message: complaint.message ?? plain(arrival.head),
    };
  }
  if (arrival.responded) {
    if (isConnectionLost(error)) return { kind: "truncated" };
    return { kind: "garbage", found: "an event of an unexpected shape" };
  }
  return { kind: "unreachable", reason: networkReason(error) };
}

function complaintOf(body: unknown): Complaint {
  if (typeof body === "string") return { message: body };
  return isRecord(body) && typeof body["message"] === "string" ? { message: body["message"] } : {};
}

/** The message of a body that is not in OpenAI's shape; a page of HTML has none. */
function plain(body: string): string | undefined {
  const trimmed = body.trim();
  return trimmed === "" || trimmed.startsWith("<") ? undefined : trimmed;
}

/** Gateways put the upstream's status into the code of an error event. */
function statusIn(body: unknown): number | undefined {
  const code = isRecord(body) ? Number(body["code"]) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
