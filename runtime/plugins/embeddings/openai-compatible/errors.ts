import type OpenAI from "openai";
import type { Failure } from "../../shared/model-http/failure.ts";

/** What the openai SDK's errors mean; undefined for what is the network's. */
export function readError(error: unknown, sdk: typeof OpenAI): Failure | undefined {
  if (error instanceof sdk.APIConnectionError || !(error instanceof sdk.APIError)) {
    return error instanceof SyntaxError ? { kind: "garbage", found: "something that is no JSON" } : undefined;
  }
  if (error.status === undefined) return undefined;
  const wait = Number(error.headers?.get("retry-after") ?? Number.NaN);
  return {
    kind: "status",
    status: error.status,
    // The SDK puts the status before the server's own words.
    message: error.message.replace(/^\d{3} /, ""),
    ...(Number.isFinite(wait) && wait > 0 ? { retryAfterS: wait } : {}),
  };
}
