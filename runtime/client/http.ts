/** One request to a node: deadline, abort, and its failures as the errors that they were on the other side. */

import { type CertificatePin, isCertificateCode, refuseUntrusted } from "../contracts/certificates.ts";
import { CairnError, ChannelError, type ErrorBody, fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import { causeCodeOf } from "../contracts/system-errors.ts";
import { isRecord } from "../contracts/values.ts";
import { fetchFor, patientFetchFor } from "./fetch.ts";

export interface Connection {
  readonly baseUrl: string;
  readonly token?: string | undefined;
  /** Instead of `token`: makes one for each request. */
  readonly authorize?: ((method: string, path: string) => Promise<string>) | undefined;
  /** Default deadline of an answer's head, in milliseconds. */
  readonly timeoutMs: number;
  /** See ClientOptions. */
  readonly unreachableHint?: string | undefined;
  /** Bytes of an answer that is read whole (see `call`); undefined: as many as it has, from a node that this one trusts. */
  readonly longestAnswer?: number | undefined;
  readonly fetch: typeof fetch;
  /** For requests without a deadline. */
  readonly patientFetch: typeof fetch;
}

export interface ConnectionOptions
  extends Partial<
    Pick<Connection, "token" | "authorize" | "timeoutMs" | "unreachableHint" | "longestAnswer" | "fetch">
  > {
  readonly baseUrl: string;
  readonly certificate?: CertificatePin | undefined;
}

const TIMEOUT_MS = 30_000;

/** The one place where a client of ours gets its fetch, and with it the certificates that it accepts. */
export function connectionTo(options: ConnectionOptions): Connection {
  const { token, authorize, timeoutMs = TIMEOUT_MS, unreachableHint, longestAnswer, certificate } = options;
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    token,
    authorize,
    timeoutMs,
    unreachableHint,
    longestAnswer,
    fetch: options.fetch ?? fetchFor(certificate),
    patientFetch: options.fetch ?? patientFetchFor(certificate),
  };
}

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly json?: unknown;
  readonly body?: ReadableStream<Uint8Array> | Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the head of the answer; 0 waits as long as it takes. */
  readonly timeoutMs?: number | undefined;
  /** Statuses beside 2xx whose body is the result. */
  readonly accept?: readonly number[];
}

/**
 * The answer, its body unread; the signal ends that too. Throws the error that the node answered with,
 * RUNTIME_NOT_RUNNING when the connection is refused, RUNTIME_CERTIFICATE_REFUSED when the certificate is not accepted,
 * CHANNEL_CONNECTION_LOST when the connection breaks, RUNTIME_NOT_READY when the deadline passes, the signal's reason when
 * it aborts.
 */
export async function request(connection: Connection, path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = "GET", json, body, headers, signal, timeoutMs = connection.timeoutMs } = options;
  const deadline = new AbortController();
  const timer = timeoutMs > 0 ? setTimeout(() => deadline.abort(), timeoutMs) : undefined;
  try {
    const token = connection.authorize ? await connection.authorize(method, path) : connection.token;
    const send = timeoutMs > 0 ? connection.fetch : connection.patientFetch;
    const response = await send(connection.baseUrl + path, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(body ? { body, duplex: "half" } : {}),
    });
    if (response.ok || options.accept?.includes(response.status)) return response;
    throw await errorOf(response);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (deadline.signal.aborted) throw tooLate(connection, timeoutMs);
    throw asConnectionError(error, connection);
  } finally {
    clearTimeout(timer);
  }
}

/** The `result` of the envelope. Where answers are bounded, so is the time until one is there as a whole. */
export async function call<Result>(
  connection: Connection,
  path: string,
  options: RequestOptions = {},
): Promise<Result> {
  const { signal, timeoutMs = connection.timeoutMs } = options;
  if (connection.longestAnswer === undefined || timeoutMs <= 0) return resultOf(connection, path, options);
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const either = signal ? AbortSignal.any([signal, deadline]) : deadline;
    return await resultOf(connection, path, { ...options, signal: either });
  } catch (error) {
    if (deadline.aborted && !signal?.aborted) throw tooLate(connection, timeoutMs);
    throw error;
  }
}

async function resultOf<Result>(connection: Connection, path: string, options: RequestOptions): Promise<Result> {
  const response = await request(connection, path, options);
  const body = await readJson(connection, response, options.signal);
  if (isRecord(body) && "result" in body) {
    // The route's own shape: both sides are of the same version, or within one minor version.
    return body.result as Result;
  }
  // A status that the caller accepts may also come without a result: an unhealthy node that cannot say more in time.
  if (isRecord(body) && isErrorBody(body.error)) throw fromErrorBody(body.error);
  throw notANode(connection.baseUrl, response.status);
}

/** A broken connection as an error of ours; everything else as it is. */
export function asConnectionError(error: unknown, connection: Connection): unknown {
  const { baseUrl } = connection;
  if (error instanceof CairnError) return error;
  // The certificate check raises it below fetch, which wraps it.
  if (error instanceof Error && error.cause instanceof CairnError) return error.cause;
  const code = causeCodeOf(error);
  if (code !== undefined && isCertificateCode(code)) return refuseUntrusted(baseUrl, code, error);
  if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EHOSTUNREACH" || code === "ENETUNREACH") {
    return new RuntimeError("RUNTIME_NOT_RUNNING", `No node answers at ${baseUrl} (${code}).`, {
      cause: error,
      ...hintOf(connection),
    });
  }
  // What fetch rejects with; a bug of ours would be another TypeError, without a cause.
  if (error instanceof TypeError && error.cause === undefined && error.message !== "terminated") return error;
  return new ChannelError("CHANNEL_CONNECTION_LOST", `The connection to ${baseUrl} broke${code ? ` (${code})` : ""}.`, {
    cause: error,
    ...hintOf(connection),
  });
}

/**
 * CHANNEL_CONNECTION_LOST when it is cut off, RUNTIME_INTERNAL when it is no JSON or too long, the signal's reason when that aborts.
 */
export async function readJson(connection: Connection, response: Response, signal?: AbortSignal): Promise<unknown> {
  try {
    if (connection.longestAnswer === undefined) return await response.json();
    const { text, whole } = await beginningOf(response, connection.longestAnswer);
    if (whole) return JSON.parse(text);
    throw new RuntimeError("RUNTIME_INTERNAL", `The answer of ${connection.baseUrl} is too long for one of a node.`);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof SyntaxError) throw notANode(connection.baseUrl, response.status);
    throw asConnectionError(error, connection);
  }
}

async function errorOf(response: Response): Promise<CairnError> {
  const { text } = await beginningOf(response, LONGEST_ERROR);
  const retryAfterS = Number(response.headers.get("retry-after") ?? Number.NaN);
  try {
    const body: unknown = JSON.parse(text);
    if (isRecord(body) && isErrorBody(body.error)) {
      return fromErrorBody(body.error, Number.isFinite(retryAfterS) ? { retryAfterS } : {});
    }
  } catch {
    // Not JSON: not a node's answer.
  }
  return notANode(response.url, response.status);
}

/** An error is short: what answers with more is no node, or one that would fill the memory. */
const LONGEST_ERROR = 1024 * 1024;

async function beginningOf(
  response: Response,
  most: number,
): Promise<{ readonly text: string; readonly whole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > most) return { text, whole: false };
    text += decoder.decode(chunk, { stream: true });
  }
  return { text, whole: true };
}

export function notANode(url: string, status: number): RuntimeError {
  return new RuntimeError("RUNTIME_INTERNAL", `The answer of ${url} (status ${status}) is not that of a node.`, {
    hint: "Check the address: another program may listen there, or a proxy may stand between.",
  });
}

function tooLate(connection: Connection, timeoutMs: number): RuntimeError {
  const message = `The node at ${connection.baseUrl} did not answer within ${timeoutMs / 1000} s.`;
  return new RuntimeError("RUNTIME_NOT_READY", message, hintOf(connection));
}

function hintOf({ unreachableHint: hint }: Connection): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}

function isErrorBody(value: unknown): value is ErrorBody {
  return isRecord(value) && typeof value.code === "string" && typeof value.message === "string";
}

/** `?name=value&...`; empty without a value. What is undefined is left out: URLSearchParams would write the word. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? "" : `?${query}`;
}
