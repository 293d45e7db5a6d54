/** `login`: OAuth 2.0 authorization code with PKCE, from the question at the login's page to the tokens where they are kept. */

import {
  AnswerRefused,
  checkAnswer,
  exchangeCode,
  TokenFailure,
  type Tokens,
} from "../../runtime/client/token-endpoint.ts";
import {
  type Credentials,
  type LoginEndpoints,
  readCredentials,
  removeCredentials,
  withCredentialsLock,
  writeCredentials,
} from "../../runtime/config/index.ts";
import { ProviderError } from "../../runtime/contracts/errors.ts";
import { parseAnswer } from "./answer.ts";
import { listenForAnswer, type Page } from "./callback.ts";
import { type LoginResult, resultHere } from "./result.ts";
import type { LoginServer, LoginTarget } from "./target.ts";

export interface LoginWork<Kept> {
  readonly signal: AbortSignal;
  /** Milliseconds until there has to be an answer. */
  readonly deadlineMs: number;
  /** Port of 127.0.0.1 for the answer; 0: a free one. */
  readonly port: number;
  /** Shows the address to the user, or opens it. */
  readonly show: (url: string) => Promise<void>;
  /** What was pasted; null: the browser brings the answer. */
  readonly paste: ((signal: AbortSignal) => Promise<string>) | null;
  /** Puts the tokens where they are used from. */
  readonly keep: (tokens: Tokens, endpoints: LoginEndpoints, signal: AbortSignal) => Promise<Kept>;
}

/** Where to log in, and as whom. Asked once the address is there to which the browser will come back. */
export type FindEndpoints = (redirectUri: string, signal: AbortSignal) => Promise<LoginEndpoints>;

const DONE: Page = { status: 200, text: "You are logged in. This page can be closed." };

/**
 * What `keep` has made of the tokens. ProviderError with the provider's message, PROVIDER_TIMEOUT after the deadline; UsageError for
 * what cannot be an answer; the errors of `find` and `keep`.
 */
export async function logIn<Kept>(provider: string, find: FindEndpoints, work: LoginWork<Kept>): Promise<Kept> {
  const oauth = await import("oauth4webapi");
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  const challenge = await oauth.calculatePKCECodeChallenge(verifier);

  const ended = new AbortController();
  const late = new AbortController();
  const deadline = setTimeout(() => late.abort(), work.deadlineMs);
  const signal = AbortSignal.any([work.signal, late.signal, ended.signal]);
  const outcome = Promise.withResolvers<Kept>();
  outcome.promise.catch(() => undefined);
  signal.addEventListener("abort", () => outcome.reject(signal.reason), { once: true });

  let taken = false;
  let endpoints: LoginEndpoints | null = null;
  const finish = async (answer: URLSearchParams): Promise<Page> => {
    if (endpoints === null) return { status: 409, text: "Nobody was asked to log in yet." };
    // An answer with a foreign `state` is ignored: any page could send one.
    await checkAnswer(endpoints, answer, state).catch((error: unknown) => {
      if (!isForeign(error)) outcome.reject(error);
      throw error;
    });
    if (taken) return { status: 409, text: "This login has been answered already." };
    taken = true;
    // A code counts once: what follows has deadlines of its own.
    clearTimeout(deadline);
    try {
      const { redirectUri } = callback;
      const tokens = await exchangeCode(endpoints, { answer, state, redirectUri, verifier }, signal);
      outcome.resolve(await work.keep(tokens, endpoints, work.signal));
      return DONE;
    } catch (error) {
      outcome.reject(error);
      throw error;
    }
  };
  const callback = await listenForAnswer(work.port, (answer) => finish(answer).catch(pageOf));
  try {
    endpoints = await find(callback.redirectUri, signal);
    await work.show(authorizationUrl(endpoints, { redirectUri: callback.redirectUri, state, challenge }));
    if (work.paste) {
      work
        .paste(signal)
        .then((text) => finish(parseAnswer(text)))
        .catch((error: unknown) => outcome.reject(error));
    }
    return await outcome.promise;
  } catch (error) {
    work.signal.throwIfAborted();
    throw explained(error, provider, late.signal.aborted ? work.deadlineMs : null);
  } finally {
    clearTimeout(deadline);
    ended.abort();
    await callback.close();
  }
}

/** In the home directory of this machine. */
export async function keepHere(
  target: LoginTarget,
  endpoints: LoginEndpoints,
  tokens: Tokens,
  { now, signal }: { readonly now: Date; readonly signal: AbortSignal },
): Promise<LoginResult> {
  const { home, provider } = target;
  const credentials = credentialsOf(target, tokens, endpoints, now);
  await withCredentialsLock(home, provider, () => writeCredentials(home, credentials), signal);
  return resultHere("login", target, credentials, { changed: true, now });
}

export async function logOut(target: LoginTarget, now: Date, signal: AbortSignal): Promise<LoginResult> {
  const { home, provider } = target;
  const changed = await withCredentialsLock(home, provider, () => removeCredentials(home, provider), signal);
  return resultHere("logout", target, null, { changed, now });
}

export async function loginStatus(target: LoginTarget, now: Date): Promise<LoginResult> {
  const credentials = await readCredentials(target.home, target.provider);
  return resultHere("status", target, credentials, { changed: false, now });
}

function authorizationUrl(
  { authorizeUrl, clientId, scopes, resource }: LoginEndpoints,
  asked: { readonly redirectUri: string; readonly state: string; readonly challenge: string },
): string {
  const url = new URL(authorizeUrl);
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: asked.redirectUri,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    state: asked.state,
    code_challenge: asked.challenge,
    code_challenge_method: "S256",
    ...(resource === undefined ? {} : { resource }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function credentialsOf(
  { provider, server }: LoginTarget,
  tokens: Tokens,
  endpoints: LoginEndpoints,
  now: Date,
): Credentials {
  const { accessToken, refreshToken, expiresInS } = tokens;
  return {
    schema: 1,
    provider,
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: expiresInS === null ? null : new Date(now.getTime() + expiresInS * 1_000).toISOString(),
    scopes: [...(tokens.scopes ?? endpoints.scopes)],
    obtained_at: now.toISOString(),
    ...(server === null
      ? {}
      : {
          endpoint: {
            ...serverPart(server, endpoints),
            token_url: endpoints.tokenUrl,
            client_id: endpoints.clientId,
          },
        }),
  };
}

/** What a refresh of a server's login needs beside what one of a provider's does. */
export function serverPart({ url }: LoginServer, endpoints: LoginEndpoints) {
  const { issuer, tokenUrl, clientSecret, clientAuth, resource } = endpoints;
  return {
    server_url: url,
    issuer: issuer ?? new URL(tokenUrl).origin,
    client_secret: clientSecret ?? null,
    client_auth: clientAuth ?? null,
    resource: resource ?? null,
  };
}

function isForeign(error: unknown): boolean {
  return error instanceof AnswerRefused && error.kind !== "error";
}

function pageOf(error: unknown): Page {
  if (error instanceof AnswerRefused) return { status: 400, text: error.message };
  if (error instanceof TokenFailure) return { status: 502, text: `The login failed: ${error.message}.` };
  return { status: 500, text: "The login failed. The terminal says why." };
}

/** `deadlineMs` is set once it is over. */
function explained(error: unknown, provider: string, deadlineMs: number | null): unknown {
  const again = { hint: `Run \`cairn login ${provider}\` again.` };
  if (error instanceof AnswerRefused) return new ProviderError("PROVIDER_UNAUTHORIZED", error.message, again);
  if (error instanceof TokenFailure) {
    const code = error.reason.kind === "refused" ? "PROVIDER_UNAUTHORIZED" : "PROVIDER_SERVER_ERROR";
    return new ProviderError(code, `The login failed: ${error.message}.`, again);
  }
  if (deadlineMs === null) return error;
  const seconds = Math.round(deadlineMs / 1_000);
  return new ProviderError("PROVIDER_TIMEOUT", `The login was not finished within ${seconds} s.`, {
    hint: `Run \`cairn login ${provider}\` again; --timeout gives more time, --no-browser takes the code by hand.`,
  });
}
