/** Failures of Slack in sentences for operators. The library's errors hold requests and answers: nothing of them but Slack's codes gets out. */

import { WebAPIHTTPError, WebAPIPlatformError, WebAPIRequestError } from "@slack/web-api";
import { CairnError, ChannelError } from "../../../contracts/errors.ts";
import { causeCodeOf } from "../../../contracts/system-errors.ts";
import { NOT_CONNECTED } from "../parts.ts";

export const TOKEN_REFUSED =
  "Slack refuses the bot's token (token): it was revoked, or is mistyped. The app's page shows the present one (OAuth & Permissions, Bot User OAuth Token).";
export const APP_TOKEN_REFUSED =
  "Slack refuses the app-level token (app_token): it was revoked, is mistyped, or lacks the scope connections:write. The app's page makes a new one (Basic Information, App-Level Tokens).";
export const NO_SOCKET_MODE = "Socket Mode is off for this app: switch it on at the app's page (Socket Mode).";

const TOKEN_CODES = ["invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"];
const REFUSED_TOKENS: ReadonlySet<string> = new Set([...TOKEN_CODES, "not_allowed_token_type"]);
/** It may work later. */
const PASSING: ReadonlySet<string> = new Set([
  "ratelimited",
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org",
  "accesslimited",
]);
/** CHANNEL_CONNECTION_LOST; errors of the service's own are unchanged. */
export function connectionError(error: unknown): CairnError {
  if (error instanceof CairnError) return error;
  const details = isNotTaken(error) ? { notTaken: true as const } : {};
  return new ChannelError("CHANNEL_CONNECTION_LOST", sentenceOf(error), details);
}

/** CHANNEL_REFUSED where Slack does not take this message in this conversation; else as `connectionError`. */
export function sendingError(error: unknown): CairnError {
  if (!isRefused(error)) return connectionError(error);
  return new ChannelError("CHANNEL_REFUSED", sentenceOf(error), { notTaken: true });
}

/** Of a failure to open a connection: there the token is the app's. */
export function openingError(error: unknown): CairnError {
  const code = codeOf(error) ?? "";
  if (REFUSED_TOKENS.has(code) || code === "missing_scope") {
    return new ChannelError("CHANNEL_CONNECTION_LOST", APP_TOKEN_REFUSED);
  }
  return connectionError(error);
}

/** The channel is gone, the bot is no member, the message is too old to be changed: the same call would be refused again. */
export function isRefused(error: unknown): error is WebAPIPlatformError {
  const code = codeOf(error);
  return code !== undefined && !REFUSED_TOKENS.has(code) && !PASSING.has(code);
}

/** The conversation is not there any more. */
export function isGone(error: unknown): boolean {
  return ["channel_not_found", "thread_not_found"].includes(codeOf(error) ?? "");
}

/** Slack's words for a refusal. */
export function refusalOf(error: WebAPIPlatformError): string {
  const needed: unknown = "needed" in error.data ? error.data.needed : undefined;
  if (codeOf(error) === "missing_scope" && typeof needed === "string" && /^[\w:.,]{1,200}$/.test(needed)) {
    return `The app lacks the scope ${needed}: add it at the app's page (OAuth & Permissions), and install the app again.`;
  }
  return `Slack answers ${codeOf(error) ?? "what cannot be read"}.`;
}

/** Slack's own code, such as `channel_not_found`. The library gives a page of a proxy as one, too. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof WebAPIPlatformError)) return undefined;
  const { error: code } = error.data;
  return typeof code === "string" && /^[a-z][a-z0-9_]{1,79}$/.test(code) ? code : undefined;
}

function isNotTaken(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return !PASSING.has(code);
  return error instanceof WebAPIRequestError && NOT_CONNECTED.has(causeCodeOf(error.original) ?? "");
}

function sentenceOf(error: unknown): string {
  if (error instanceof WebAPIPlatformError) {
    const code = codeOf(error);
    if (code === undefined) return "What answers is not Slack.";
    return REFUSED_TOKENS.has(code) ? TOKEN_REFUSED : refusalOf(error);
  }
  if (error instanceof WebAPIHTTPError) return `Slack answers ${error.statusCode}.`;
  const cause = error instanceof WebAPIRequestError ? error.original : error;
  if (cause instanceof Error && (cause.name === "AbortError" || cause.name === "TimeoutError")) {
    return "Slack does not answer in time.";
  }
  const why = causeCodeOf(cause);
  return why === undefined
    ? "Slack cannot be reached, or what answers is not Slack."
    : `Slack cannot be reached (${why}).`;
}
