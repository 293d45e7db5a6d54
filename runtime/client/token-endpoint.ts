/** The token endpoint of a login: a code or a refresh token goes in, tokens come out. OAuth 2.0 (RFC 6749, RFC 7636). */

import type { AuthorizationServer, Client, ClientAuth, TokenEndpointRequestOptions } from "oauth4webapi";
import { networkReason } from "../contracts/system-errors.ts";

export interface TokenEndpoint {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Of a client that has one, and how it is sent. */
  readonly clientSecret?: string | undefined;
  readonly clientAuth?: "client_secret_basic" | "client_secret_post" | undefined;
  /** As the server names itself; the origin of `tokenUrl` when absent. */
  readonly issuer?: string | undefined;
  /** What the tokens are for (RFC 8707). */
  readonly resource?: string | undefined;
}

export interface Tokens {
  readonly accessToken: string;
  /** Null when the server gave none: with a refresh, the old one still counts. */
  readonly refreshToken: string | null;
  /** Seconds; null when the server did not send it. */
  readonly expiresInS: number | null;
  /** Null: the requested ones. */
  readonly scopes: readonly string[] | null;
}

export type TokenFailureReason =
  /** The server's own code, such as `invalid_grant`: asking again is of no use. */
  | { readonly kind: "refused"; readonly error: string; readonly status: number }
  | { readonly kind: "failed"; readonly status: number }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "garbage" };

/** Never carries what was sent or received: both hold secrets. */
export class TokenFailure extends Error {
  readonly reason: TokenFailureReason;

  constructor(reason: TokenFailureReason) {
    super(wordsFor(reason));
    this.name = "TokenFailure";
    this.reason = reason;
  }
}

export interface CodeGrant {
  /** The whole answer to the redirect address. */
  readonly answer: URLSearchParams;
  readonly state: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** The provider refused at its own page, or the answer belongs to another request. */
export class AnswerRefused extends Error {
  /** `state`: the answer to another login. */
  readonly kind: "state" | "error" | "malformed";

  constructor(kind: AnswerRefused["kind"], message: string) {
    super(message);
    this.name = "AnswerRefused";
    this.kind = kind;
  }
}

/** Milliseconds of one request. */
const DEADLINE_MS = 30_000;
const LONGEST_QUOTE = 200;

/** AnswerRefused when the state is wrong or the answer an error. Sends nothing. */
export async function checkAnswer(endpoint: TokenEndpoint, answer: URLSearchParams, state: string): Promise<void> {
  await validated(endpoint, answer, state);
}

/** AnswerRefused, TokenFailure, or the signal's reason. */
export async function exchangeCode(endpoint: TokenEndpoint, grant: CodeGrant, signal: AbortSignal): Promise<Tokens> {
  const oauth = await import("oauth4webapi");
  const { server, client } = parties(endpoint);
  const answer = await validated(endpoint, grant.answer, grant.state);
  return ask(signal, async (options) => {
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      await authenticationOf(endpoint),
      answer,
      grant.redirectUri,
      grant.verifier,
      await optionsFor(endpoint, options),
    );
    return oauth.processAuthorizationCodeResponse(server, client, await accepted(response));
  });
}

/** TokenFailure, or the signal's reason. */
export async function refreshTokens(
  endpoint: TokenEndpoint,
  refreshToken: string,
  signal: AbortSignal,
): Promise<Tokens> {
  const oauth = await import("oauth4webapi");
  const { server, client } = parties(endpoint);
  return ask(signal, async (options) => {
    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      await authenticationOf(endpoint),
      refreshToken,
      await optionsFor(endpoint, options),
    );
    return oauth.processRefreshTokenResponse(server, client, await accepted(response));
  });
}

async function validated(endpoint: TokenEndpoint, answer: URLSearchParams, state: string): Promise<URLSearchParams> {
  const oauth = await import("oauth4webapi");
  const { server, client } = parties(endpoint);
  // Checked first: an error of a foreign sender must not end this login.
  if (answer.get("state") !== state) {
    throw new AnswerRefused("state", "The answer belongs to another login: its state is not the one that was sent.");
  }
  try {
    return oauth.validateAuthResponse(server, client, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) {
      const words = error.error_description ? `: ${plain(error.error_description)}` : "";
      throw new AnswerRefused("error", `The provider refused the login (${plain(error.error)})${words}.`);
    }
    throw new AnswerRefused("malformed", "The answer is not complete.");
  }
}

function parties({ authorizeUrl, tokenUrl, clientId, issuer }: TokenEndpoint): {
  readonly server: AuthorizationServer;
  readonly client: Client;
} {
  const { origin } = new URL(tokenUrl);
  const server = { issuer: issuer ?? origin, authorization_endpoint: authorizeUrl, token_endpoint: tokenUrl };
  return { server, client: { client_id: clientId } };
}

type Asked = { readonly signal: AbortSignal };

async function optionsFor(
  { tokenUrl, resource }: TokenEndpoint,
  { signal }: Asked,
): Promise<TokenEndpointRequestOptions> {
  const oauth = await import("oauth4webapi");
  return {
    signal,
    // What leads here allows http on this machine alone.
    [oauth.allowInsecureRequests]: new URL(tokenUrl).protocol === "http:",
    ...(resource === undefined ? {} : { additionalParameters: { resource } }),
  };
}

async function authenticationOf({ clientSecret, clientAuth }: TokenEndpoint): Promise<ClientAuth> {
  const oauth = await import("oauth4webapi");
  if (clientSecret === undefined) return oauth.None();
  return clientAuth === "client_secret_post"
    ? oauth.ClientSecretPost(clientSecret)
    : oauth.ClientSecretBasic(clientSecret);
}

interface Answered {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
  readonly scope?: string;
}

async function ask(signal: AbortSignal, work: (options: Asked) => Promise<Answered>): Promise<Tokens> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  try {
    const answer = await work({ signal: AbortSignal.any([signal, deadline]) });
    return {
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? null,
      expiresInS: answer.expires_in ?? null,
      scopes: answer.scope === undefined ? null : answer.scope.split(" ").filter((scope) => scope !== ""),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw await failureOf(error, deadline);
  }
}

/** A server that is broken answers with anything at all: its status is what counts. */
async function accepted(response: Response): Promise<Response> {
  if (response.status < 500 && response.status !== 429) return response;
  await response.body?.cancel();
  throw new TokenFailure({ kind: "failed", status: response.status });
}

async function failureOf(error: unknown, deadline: AbortSignal): Promise<TokenFailure> {
  const oauth = await import("oauth4webapi");
  if (error instanceof TokenFailure) return error;
  if (deadline.aborted)
    return new TokenFailure({ kind: "unreachable", reason: `no answer in ${DEADLINE_MS / 1_000} s` });
  if (error instanceof oauth.ResponseBodyError) {
    return new TokenFailure({ kind: "refused", error: plain(error.error), status: error.status });
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new TokenFailure({ kind: "refused", error: "unauthorized", status: error.status });
  }
  if (error instanceof oauth.OperationProcessingError) {
    const status = error.cause instanceof Response ? error.cause.status : 200;
    return new TokenFailure(status >= 400 ? { kind: "failed", status } : { kind: "garbage" });
  }
  return new TokenFailure({ kind: "unreachable", reason: networkReason(error) });
}

function wordsFor(reason: TokenFailureReason): string {
  switch (reason.kind) {
    case "refused":
      return `the login server refused (${reason.error})`;
    case "failed":
      return `the login server failed (HTTP ${reason.status})`;
    case "unreachable":
      return `the login server could not be reached (${reason.reason})`;
    case "garbage":
      return "the login server's answer could not be read";
  }
}

/** A server's words, fit for a message. */
function plain(text: string): string {
  const whole = text.replace(/[\p{Cc}\s]+/gu, " ").trim();
  return whole.slice(0, LONGEST_QUOTE).toWellFormed().replace(/\.$/, "");
}
