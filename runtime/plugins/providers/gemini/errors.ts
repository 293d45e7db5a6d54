import type { ApiError } from "@google/genai/web";
import { networkReason } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { Complaint, Failure } from "../../shared/model-http/failure.ts";
import { endedEarly, isConnectionLost, readFailure } from "../shared/broken-stream.ts";
import { Refusal } from "../shared/resend.ts";
import type { Watch } from "../shared/watch.ts";

/** What went wrong, from the response, from whatever Google's SDK throws and what was seen on the wire. */
export function readError(
  error: unknown,
  sdk: { readonly ApiError: typeof ApiError },
  watch: Watch,
  timeoutMs: number,
): Failure {
  const arrival = watch.arrival();
  if (watch.stalled()) return { kind: "silent", timeoutMs, begun: arrival.bytes > 0 };
  const read = readFailure(error, watch);
  if (read !== undefined) return read;
  if (error instanceof Refusal) {
    const { complaint, retryAfterS } = bodyOf(error.body);
    const wait = error.retryAfterS ?? retryAfterS;
    return { kind: "status", status: statusOf(error.status, complaint), retryAfterS: wait, ...complaint };
  }
  if (!arrival.responded) return { kind: "unreachable", reason: networkReason(error) };
  if (error instanceof sdk.ApiError) {
    // Its message is a prefix and the event.
    const { complaint } = bodyOf(error.message.slice(error.message.indexOf("{")));
    return { kind: "event", status: statusOf(error.status, complaint), ...complaint };
  }
  if (isConnectionLost(error)) return { kind: "truncated" };
  // The SDK has no error class of its own for half an event.
  if (arrival.ended) return endedEarly(watch, 0).failure;
  return { kind: "garbage", found: "an event of an unexpected shape" };
}

interface Body {
  readonly complaint: Complaint;
  /** Of the error's `RetryInfo`. */
  readonly retryAfterS?: number;
}

function bodyOf(text: string): Body {
  const error = errorIn(text);
  if (error === undefined) {
    const trimmed = text.trim();
    return { complaint: trimmed === "" || trimmed.startsWith("<") ? {} : { message: trimmed } };
  }
  const { status, message, details } = error;
  const list: readonly unknown[] = Array.isArray(details) ? details : [];
  const delay = list.map((detail) => (isRecord(detail) ? detail["retryDelay"] : undefined)).find(Boolean);
  const seconds = typeof delay === "string" ? Number.parseFloat(delay) : Number.NaN;
  const reason = list.map((detail) => (isRecord(detail) ? detail["reason"] : undefined)).find(Boolean);
  return {
    complaint: {
      ...(typeof status === "string" ? { type: status } : {}),
      ...(typeof reason === "string" ? { code: reason } : {}),
      ...(typeof message === "string" ? { message } : {}),
    },
    ...(seconds >= 0 ? { retryAfterS: seconds } : {}),
  };
}

/** A body is the error, or a list of it. */
function errorIn(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
    return isRecord(body) && isRecord(body["error"]) ? body["error"] : undefined;
  } catch {
    return undefined;
  }
}

/** Google refuses a wrong key with 400, as a bad argument. */
function statusOf(status: number, { code, message }: Complaint): number {
  const wrongKey = code === "API_KEY_INVALID" || /api key (not valid|expired)/i.test(message ?? "");
  return status === 400 && wrongKey ? 401 : status;
}
