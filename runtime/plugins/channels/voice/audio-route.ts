/** One route of an OpenAI-compatible audio API, called by OpenAI's SDK: its deadline, its bounds, and its errors translated once. */

import type OpenAI from "openai";
import { RuntimeError } from "../../../contracts/errors.ts";
import { networkReason } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import { type Failure, hostOf, toProviderError } from "../../shared/model-http/failure.ts";
import type { AudioRoute } from "../manifest.ts";

/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";
/** A pause that somebody who talks can bear; a longer one is an answer. */
const LONGEST_PAUSE_S = 3;
/** Bytes of an answer. */
const LONGEST_ANSWER = 16 * 1024 * 1024;

export interface CallOptions {
  /** Milliseconds for all of it, with repeated attempts. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface AudioApi {
  /** Rejects with ProviderError, with RuntimeError where the sender can mend it, or with the signal's reason. */
  call<Result>(options: CallOptions, use: (client: OpenAI, signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** An answer that is not what was asked for. */
export class UnexpectedAnswer extends Error {}

/** `settings` is its path in cairn.yaml. Loads no SDK until it is called. */
export function createAudioApi(settings: string, route: AudioRoute): AudioApi {
  const baseURL = route.baseUrl.replace(/\/+$/, "");
  return {
    async call({ deadlineMs, signal }, use) {
      const sdk = (await import("openai")).default;
      signal.throwIfAborted();
      const late = AbortSignal.timeout(deadlineMs);
      // Everything that the SDK would take from the environment is passed explicitly: only the configuration counts.
      const client = new sdk({
        apiKey: route.apiKey || NO_KEY,
        baseURL,
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        maxRetries: 2,
        timeout: deadlineMs,
        logLevel: "off",
        fetch: boundedFetch,
      });
      try {
        return await use(client, AbortSignal.any([signal, late]));
      } catch (error) {
        signal.throwIfAborted();
        const failure: Failure = late.aborted
          ? { kind: "silent", timeoutMs: deadlineMs, begun: false }
          : readFailure(error, sdk);
        const party = { subject: `${settings} (${hostOf(baseURL)}, ${route.model})`, host: hostOf(baseURL) };
        const explained = toProviderError(
          // Its advice for 404 is that of chat models.
          { ...party, secret: route.apiKey, settings: isMissing(failure) ? undefined : settings },
          failure,
          error,
        );
        throw sendersFault(failure, explained.message) ?? explained;
      }
    },
  };
}

function isMissing(failure: Failure): boolean {
  return failure.kind === "status" && failure.status === 404;
}

/** What a service says of a recording that it cannot read, or that is too long for it. */
function sendersFault(failure: Failure, message: string): RuntimeError | null {
  if (failure.kind !== "status") return null;
  if (failure.status === 413) {
    return new RuntimeError(
      "RUNTIME_BODY_TOO_LARGE",
      "The recording is too large for the service that transcribes it.",
    );
  }
  const isOfFile = failure.param === "file" || /audio|file format|decod/i.test(failure.message ?? "");
  if (failure.status === 415 || ((failure.status === 400 || failure.status === 422) && isOfFile)) {
    return new RuntimeError("RUNTIME_UNSUPPORTED_MEDIA_TYPE", `The recording could not be read. ${message}`);
  }
  return null;
}

function readFailure(error: unknown, sdk: typeof OpenAI): Failure {
  if (error instanceof UnexpectedAnswer) return { kind: "garbage", found: error.message };
  if (error instanceof SyntaxError) return { kind: "garbage", found: "no JSON" };
  if (error instanceof sdk.APIError && error.status !== undefined) {
    const body: unknown = error.error;
    const said = isRecord(body) ? body["message"] : body;
    const pause = Number(new Headers(error.headers).get("retry-after") ?? Number.NaN);
    return {
      kind: "status",
      status: error.status,
      retryAfterS: Number.isFinite(pause) && pause >= 0 ? pause : undefined,
      type: error.type,
      param: error.param ?? undefined,
      message: typeof said === "string" ? said : undefined,
    };
  }
  if (error instanceof sdk.APIConnectionError) {
    return { kind: "unreachable", reason: networkReason(error.cause ?? error) };
  }
  // The connection broke while the answer came.
  return { kind: "truncated" };
}

/** A redirect would carry the key to another host: it is reported, never followed. */
const boundedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "manual" });
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  if (Number(headers.get("retry-after")) > LONGEST_PAUSE_S) headers.set("x-should-retry", "false");
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, sink) {
      bytes += chunk.byteLength;
      if (bytes > LONGEST_ANSWER) throw new UnexpectedAnswer(`it is longer than ${LONGEST_ANSWER} bytes`);
      sink.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(bounded) ?? null, { status, statusText, headers });
};
