import { ProviderError } from "../../../contracts/errors.ts";

/**
 * How a request to a model server failed, in terms that all of them share, and the ProviderError that says so: the one place
 * that decides codes and words, for chat models and for encoders. Each plugin only reads its own library's errors into a
 * `Failure`.
 */

/** The server that was called. */
export interface Party {
  /** Begins the message: `Provider "main" (Anthropic, claude)`, `The embedding model "bge" (http://127.0.0.1:11434)`. */
  readonly subject: string;
  /** Scheme and host. */
  readonly host: string;
  /** The key, so that it can be redacted from the server's message. */
  readonly secret?: string | undefined;
  /** The provider whose login the secret is a token of. */
  readonly login?: string | undefined;
  /** Path of its settings in the configuration (`providers.main`); absent: there are none to correct. */
  readonly settings?: string | undefined;
}

/** The parts of an error body that the APIs have in common. */
export interface Complaint {
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  /** The request parameter that the complaint is about. */
  readonly param?: string | undefined;
  readonly message?: string | undefined;
}

export type Failure =
  /** Nothing was sent: there is no key for an API that needs one, or none that could be a key. */
  | { readonly kind: "key"; readonly problem: "missing" | "malformed" }
  | ({ readonly kind: "status"; readonly status: number; readonly retryAfterS?: number | undefined } & Complaint)
  /** An error event inside a stream that had begun well. */
  | ({ readonly kind: "event"; readonly status?: number | undefined } & Complaint)
  | { readonly kind: "silent"; readonly timeoutMs: number; readonly begun: boolean }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "truncated" }
  | { readonly kind: "garbage"; readonly found: string }
  /** More than an answer may hold. */
  | { readonly kind: "endless"; readonly bound: string };

type Code = ProviderError["code"];

const CONTEXT_TOO_LONG = [
  /prompt is too long/i,
  /context.{0,3}(length|window|size|limit)/i,
  /context_length/i,
  /exceed_context/i,
  /input (token count|length).{0,60}exceed/i,
  /maximum.{0,20}(context|number of (input )?tokens)/i,
  /reduce the length of the (messages|prompt|input)/i,
  /too many (input )?tokens/i,
];

/** Error types of the APIs' bodies, for errors that come without a status (inside a stream). */
const TYPES: readonly (readonly [RegExp, Code])[] = [
  [/overloaded|unavailable|capacity/i, "PROVIDER_OVERLOADED"],
  [/rate_?limit|too_many_requests|insufficient_quota/i, "PROVIDER_RATE_LIMITED"],
  [/authentication|permission|invalid_api_key|unauthorized/i, "PROVIDER_UNAUTHORIZED"],
  [/timeout/i, "PROVIDER_TIMEOUT"],
  [/invalid_request|not_found|bad_request|content_filter|billing/i, "PROVIDER_REJECTED_REQUEST"],
];

/** Whether the server complains that the conversation does not fit its model. */
export function isContextTooLong(complaint: Complaint): boolean {
  const text = `${complaint.code ?? ""} ${complaint.type ?? ""} ${complaint.message ?? ""}`;
  return CONTEXT_TOO_LONG.some((pattern) => pattern.test(text));
}

function codeFor(failure: Failure): Code {
  switch (failure.kind) {
    case "key":
      return "PROVIDER_UNAUTHORIZED";
    case "silent":
      return "PROVIDER_TIMEOUT";
    case "unreachable":
      return "PROVIDER_UNREACHABLE";
    case "truncated":
      return "PROVIDER_STREAM_TRUNCATED";
    case "garbage":
    case "endless":
      return "PROVIDER_BAD_RESPONSE";
    case "status":
      return codeOfStatus(failure.status, failure);
    case "event": {
      if (failure.status !== undefined && failure.status >= 400) return codeOfStatus(failure.status, failure);
      if (isContextTooLong(failure)) return "PROVIDER_CONTEXT_TOO_LONG";
      const text = `${failure.type ?? ""} ${failure.code ?? ""}`;
      return TYPES.find(([pattern]) => pattern.test(text))?.[1] ?? "PROVIDER_SERVER_ERROR";
    }
  }
}

function codeOfStatus(status: number, complaint: Complaint): Code {
  if (status === 401 || status === 403) return "PROVIDER_UNAUTHORIZED";
  if (status === 429) return "PROVIDER_RATE_LIMITED";
  // A gateway without its server answers 502.
  if (status === 502 || status === 503 || status === 529) return "PROVIDER_OVERLOADED";
  if (status === 408 || status === 504) return "PROVIDER_TIMEOUT";
  // Some local servers answer 500 when the prompt does not fit.
  if (status === 413 || isContextTooLong(complaint)) return "PROVIDER_CONTEXT_TOO_LONG";
  if (status >= 500 || status === 409) return "PROVIDER_SERVER_ERROR";
  if (status < 400) return "PROVIDER_BAD_RESPONSE";
  return "PROVIDER_REJECTED_REQUEST";
}

/**
 * The error that callers see. Its message names the server and what happened; the server's own message is shortened, and
 * left out altogether where it may repeat the key.
 */
export function toProviderError(party: Party, failure: Failure, cause?: unknown): ProviderError {
  const code = codeFor(failure);
  const retryAfterS = failure.kind === "status" ? failure.retryAfterS : undefined;
  const hint = hintFor(code, failure, party);
  return new ProviderError(code, `${party.subject}: ${describe(code, failure, party)}`, {
    ...(cause === undefined ? {} : { cause: scrubbed(cause, party) }),
    ...(retryAfterS === undefined ? {} : { retryAfterS: Math.ceil(retryAfterS) }),
    ...(hint === undefined ? {} : { hint }),
  });
}

function describe(code: Code, failure: Failure, party: Party): string {
  switch (failure.kind) {
    case "key":
      return failure.problem === "missing"
        ? "no API key is configured."
        : "the API key holds characters that no key can hold.";
    case "silent": {
      const seconds = Math.round(failure.timeoutMs / 100) / 10;
      return failure.begun
        ? `the answer stopped coming, nothing arrived for ${seconds} s.`
        : `no answer came within ${seconds} s.`;
    }
    case "unreachable":
      return `${party.host} could not be reached (${scrub(failure.reason, party)}).`;
    case "truncated":
      return "the answer broke off before its end.";
    case "garbage":
      return `the answer could not be read: ${scrub(failure.found, party)}.`;
    case "endless":
      return `the answer did not end: it was given up after ${failure.bound}.`;
    case "status":
    case "event": {
      const where = failure.kind === "status" ? `HTTP ${failure.status}` : (failure.type ?? failure.code ?? "error");
      return `${wordsFor(code, party)} (${where})${said(code, failure, party)}`;
    }
  }
}

function wordsFor(code: Code, { login }: Party): string {
  switch (code) {
    case "PROVIDER_UNAUTHORIZED":
      return login !== undefined ? "the login was refused" : "the API key was refused";
    case "PROVIDER_RATE_LIMITED":
      return "too many requests, or the quota is used up";
    case "PROVIDER_OVERLOADED":
      return "the service is overloaded or unavailable";
    case "PROVIDER_TIMEOUT":
      return "the service gave up waiting";
    case "PROVIDER_CONTEXT_TOO_LONG":
      return "the conversation is too long for the model";
    case "PROVIDER_REJECTED_REQUEST":
      return "the request was rejected";
    case "PROVIDER_BAD_RESPONSE":
      return "an unexpected answer";
    default:
      return "the service failed";
  }
}

function said(code: Code, complaint: Complaint, party: Party): string {
  // Servers quote the key, whole or in part, when they refuse it.
  if (code === "PROVIDER_UNAUTHORIZED" || !complaint.message) return ".";
  return `: ${scrub(complaint.message, party)}`;
}

function hintFor(code: Code, failure: Failure, party: Party): string | undefined {
  const { settings, login } = party;
  if (code === "PROVIDER_UNAUTHORIZED" && login !== undefined) return `Run \`cairn login ${login}\`.`;
  if (settings === undefined) return undefined;
  if (code === "PROVIDER_UNAUTHORIZED") return `Check the API key of ${settings}.`;
  if (code === "PROVIDER_UNREACHABLE") return `Check that the server runs and that ${settings}.base_url is right.`;
  if (code === "PROVIDER_BAD_RESPONSE" && failure.kind !== "endless")
    return `Check that ${settings}.base_url is the address of the API.`;
  if (failure.kind === "status" && failure.status === 404) {
    return `Check the model's name and ${settings}.base_url: \`cairn model NAME\` changes the agent's, /model default goes back from one that was chosen in a chat.`;
  }
  return undefined;
}

const LONGEST_QUOTE = 300;

/** Foreign text, fit for a message: no key, no control characters, not too long. */
function scrub(text: string, party: Party): string {
  const whole = withoutSecret(text, party)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return whole.length > LONGEST_QUOTE ? `${whole.slice(0, LONGEST_QUOTE).toWellFormed()}...` : whole;
}

function withoutSecret(text: string, party: Party): string {
  const bare = party.secret ? text.replaceAll(party.secret, "[key]") : text;
  return bare
    .replace(/\/\/[^\s/@]+@/g, "//")
    .replace(/\b(sk|pk|key|xai|gsk)-[\w*-]{6,}/gi, "[key]")
    .replace(/\bBearer\s+\S+/gi, "Bearer [key]");
}

/** SDK errors carry bodies and headers that a logger would print: only name and message are passed on. */
function scrubbed(cause: unknown, party: Party): Error {
  const error = new Error(cause instanceof Error ? scrub(cause.message, party) : "unknown");
  if (cause instanceof Error) error.name = cause.name;
  return error;
}

/** Scheme and host of an address, for messages: paths, queries and credentials are left out. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "an invalid address";
}
