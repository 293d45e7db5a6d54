/** `login`: OAuth 2.0 authorization code with PKCE, from the question at the provider's page to the tokens on disk. */

import {
  AnswerRefused,
  checkAnswer,
  exchangeCode,
  TokenFailure,
  type Tokens,
} from "../../runtime/client/token-endpoint.ts";
import {
  type Credentials,
  credentialsPath,
  type LoginEndpoints,
  readCredentials,
  removeCredentials,
  withCredentialsLock,
  writeCredentials,
} from "../../runtime/config/index.ts";
import { ProviderError } from "../../runtime/contracts/errors.ts";
import { parseAnswer } from "./answer.ts";
import { listenForAnswer, type Page } from "./callback.ts";
import type { LoginTarget } from "./target.ts";

/** The document of `cairn login --json`. Never a token. */
export interface LoginResult {
  readonly schema: 1;
  readonly action: "login" | "logout" | "status";
  readonly provider: string;
  /** Whether a call could be made now, maybe after a refresh. */
  readonly logged_in: boolean;
  /** Whether the command changed that. */
  readonly changed: boolean;
  readonly file: string;
  readonly expires_at: string | null;
  /** Whether the token can be refreshed at its end without a new login. */
  readonly renewable: boolean;
  readonly scopes: readonly string[];
  /** False where an API key of the configuration comes first. */
  readonly in_use: boolean;
  /** Whether this directory has a deployed stack, whose nodes do not have this login. */
  readonly deployed: boolean;
}

export interface LoginWork {
  readonly signal: AbortSignal;
  /** Deadline of the login, in milliseconds. */
  readonly deadlineMs: number;
  /** Port of 127.0.0.1 for the answer; 0: a free one. */
  readonly port: number;
  readonly now: () => Date;
  /** Shows the address to the user, or opens it. */
  readonly show: (url: string) => Promise<void>;
  /** What was pasted; null: the browser brings the answer. */
  readonly paste: ((signal: AbortSignal) => Promise<string>) | null;
}

const DONE: Page = { status: 200, text: "You are logged in. This page can be closed." };

/** ProviderError with the provider's message, PROVIDER_TIMEOUT after the deadline; UsageError for what cannot be an answer. */
export async function logIn(target: LoginTarget, endpoints: LoginEndpoints, work: LoginWork): Promise<LoginResult> {
  const oauth = await import("oauth4webapi");
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  const challenge = await oauth.calculatePKCECodeChallenge(verifier);

  const ended = new AbortController();
  const deadline = AbortSignal.timeout(work.deadlineMs);
  const signal = AbortSignal.any([work.signal, deadline, ended.signal]);
  const outcome = Promise.withResolvers<Credentials>();
  outcome.promise.catch(() => undefined);
  signal.addEventListener("abort", () => outcome.reject(signal.reason), { once: true });

  let taken = false;
  const finish = async (answer: URLSearchParams): Promise<Page> => {
    // An answer with a foreign `state` is ignored: any page could send one.
    await checkAnswer(endpoints, answer, state).catch((error: unknown) => {
      if (!isForeign(error)) outcome.reject(error);
      throw error;
    });
    if (taken) return { status: 409, text: "This login has been answered already." };
    taken = true;
    try {
      const { redirectUri } = callback;
      const tokens = await exchangeCode(endpoints, { answer, state, redirectUri, verifier }, signal);
      const credentials = credentialsOf(target.provider, tokens, endpoints, work.now());
      await withCredentialsLock(target.home, target.provider, () => writeCredentials(target.home, credentials), signal);
      outcome.resolve(credentials);
      return DONE;
    } catch (error) {
      outcome.reject(error);
      throw error;
    }
  };
  const callback = await listenForAnswer(work.port, (answer) => finish(answer).catch(pageOf));
  try {
    await work.show(authorizationUrl(endpoints, { redirectUri: callback.redirectUri, state, challenge }));
    if (work.paste) {
      work
        .paste(signal)
        .then((text) => finish(parseAnswer(text)))
        .catch((error: unknown) => outcome.reject(error));
    }
    return resultOf("login", target, await outcome.promise, { changed: true, now: work.now() });
  } catch (error) {
    work.signal.throwIfAborted();
    throw explained(error, target.provider, deadline.aborted ? work.deadlineMs : null);
  } finally {
    ended.abort();
    await callback.close();
  }
}

export async function logOut(target: LoginTarget, now: Date, signal: AbortSignal): Promise<LoginResult> {
  const { home, provider } = target;
  const changed = await withCredentialsLock(home, provider, () => removeCredentials(home, provider), signal);
  return resultOf("logout", target, null, { changed, now });
}

export async function loginStatus(target: LoginTarget, now: Date): Promise<LoginResult> {
  const credentials = await readCredentials(target.home, target.provider);
  return resultOf("status", target, credentials, { changed: false, now });
}

function authorizationUrl(
  { authorizeUrl, clientId, scopes }: LoginEndpoints,
  asked: { readonly redirectUri: string; readonly state: string; readonly challenge: string },
): string {
  const url = new URL(authorizeUrl);
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: asked.redirectUri,
    scope: scopes.join(" "),
    state: asked.state,
    code_challenge: asked.challenge,
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function credentialsOf(provider: string, tokens: Tokens, { scopes }: LoginEndpoints, now: Date): Credentials {
  const { accessToken, refreshToken, expiresInS } = tokens;
  return {
    schema: 1,
    provider,
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: expiresInS === null ? null : new Date(now.getTime() + expiresInS * 1_000).toISOString(),
    scopes: [...(tokens.scopes ?? scopes)],
    obtained_at: now.toISOString(),
  };
}

function resultOf(
  action: LoginResult["action"],
  { provider, home, keyComesFirst, deployed, endpoints }: LoginTarget,
  credentials: Credentials | null,
  { changed, now }: { readonly changed: boolean; readonly now: Date },
): LoginResult {
  const end = credentials?.expires_at ?? null;
  const renewable = credentials !== null && credentials.refresh_token !== null;
  return {
    schema: 1,
    action,
    provider,
    logged_in: credentials !== null && (renewable || end === null || Date.parse(end) > now.getTime()),
    changed,
    file: credentialsPath(home, provider),
    expires_at: end,
    renewable,
    scopes: credentials?.scopes ?? [],
    in_use: credentials !== null && endpoints !== null && !keyComesFirst,
    deployed,
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
