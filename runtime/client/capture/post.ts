/** One batch to the node, and what that means for its file. */

import type { CaptureBatch, CaptureResult } from "../../contracts/capture.ts";
import { ERROR_CODES, type ErrorBody } from "../../contracts/errors.ts";
import { networkReason } from "../../contracts/system-errors.ts";
import { isRecord } from "../../contracts/values.ts";

export interface CaptureNode {
  readonly baseUrl: string;
  readonly token: string;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

export type Answer =
  | { readonly kind: "stored"; readonly result: CaptureResult }
  /**
   * Later it may be taken. `unavailable`: true when no batch will be taken now, false when it may be this one; `unanswered` when a
   * request came to nothing at all, which may be either.
   */
  | { readonly kind: "later"; readonly unavailable: boolean | "unanswered"; readonly reason: string }
  | { readonly kind: "refused"; readonly status: number; readonly error: ErrorBody };

/** The node was there, and the connection ended without an answer. */
const BROKEN: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
const STOPPED = "there was no time left to ask the node";

/** Never rejects; after the signal it sends nothing more. */
export async function postBatch(node: CaptureNode, batch: CaptureBatch, signal?: AbortSignal): Promise<Answer> {
  if (signal?.aborted) return { kind: "later", unavailable: true, reason: STOPPED };
  const deadline = AbortSignal.timeout(node.timeoutMs);
  try {
    const response = await node.fetch(`${node.baseUrl}/api/capture`, {
      method: "POST",
      headers: { authorization: `Bearer ${node.token}`, "content-type": "application/json" },
      body: JSON.stringify(batch),
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    return classify(response.status, await response.text());
  } catch (error) {
    if (signal?.aborted) return { kind: "later", unavailable: true, reason: STOPPED };
    if (deadline.aborted)
      return { kind: "later", unavailable: "unanswered", reason: `no answer within ${node.timeoutMs / 1_000} s` };
    const reason = networkReason(error);
    return { kind: "later", unavailable: BROKEN.has(reason) ? "unanswered" : true, reason };
  }
}

/**
 * Design, section 3: kept on 5xx, 401 and 429; other 4xx go to `dead/`. 408 is a connection that was too slow. A success
 * without a result is the answer of something else that listens there.
 */
export function classify(status: number, text: string): Answer {
  const body = parse(text);
  if (status >= 200 && status < 300) {
    const result = body?.["result"];
    if (isRecord(result) && typeof result["conversation_id"] === "string") {
      // The route's own shape.
      return { kind: "stored", result: result as unknown as CaptureResult };
    }
    return { kind: "later", unavailable: true, reason: "the answer is not that of a node" };
  }
  const error = errorOf(body, status);
  const reason = `${status} ${error.code}: ${error.message}`;
  if (status >= 400 && status < 500 && status !== 401 && status !== 408 && status !== 429) {
    return { kind: "refused", status, error };
  }
  return { kind: "later", unavailable: status !== 500, reason };
}

function errorOf(body: Readonly<Record<string, unknown>> | null, status: number): ErrorBody {
  const error = body?.["error"];
  if (isRecord(error) && typeof error["code"] === "string" && typeof error["message"] === "string") {
    // An ErrorBody has a code and a message; the rest is optional or follows from the code.
    return error as unknown as ErrorBody;
  }
  const { severity } = ERROR_CODES.RUNTIME_INTERNAL;
  const message = `The address answered ${status} in words that are not a node's.`;
  return { code: "RUNTIME_INTERNAL", message, severity, retryable: false };
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
