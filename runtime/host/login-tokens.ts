/**
 * The access token of a login: read from the home directory, refreshed ahead of its end and when it is refused.
 * A refresh token counts once: requests share one refresh, processes take turns by a file lock, and what came is on disk
 * before it is used.
 */

import { refreshTokens, TokenFailure } from "../client/token-endpoint.ts";
import { type Credentials, readCredentials, withCredentialsLock, writeCredentials } from "../config/credentials.ts";
import { type LoginEndpoints, recordedEndpoint, serverOfLogin } from "../config/logins.ts";
import { ProviderError } from "../contracts/errors.ts";
import type { Clock, Logger } from "../contracts/ports.ts";

export interface LoginTokensOptions {
  /** Of the login: a provider's id, or `mcp.<id>`. */
  readonly provider: string;
  readonly home: string;
  /** Null: of an MCP server, whose login has them. */
  readonly endpoints: LoginEndpoints | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of every token, so that no log shows it. */
  readonly hide: (secrets: readonly string[]) => void;
}

/** Milliseconds before its end at which a token is replaced; short-lived ones a tenth of their life before. */
const AHEAD_MS = 300_000;

export class LoginTokens {
  readonly #options: LoginTokensOptions;
  #refreshing: Promise<string> | null = null;
  /** A refresh token that the server has revoked: another request would fail in the same way. */
  #dead: string | null = null;

  constructor(options: LoginTokensOptions) {
    this.#options = options;
  }

  /** Whether there is a login. */
  async present(): Promise<boolean> {
    return (await this.#read().catch(() => null)) !== null;
  }

  /** A token that counts. PROVIDER_UNAUTHORIZED, naming `cairn login`, when there is none and none can be had. */
  async token(signal?: AbortSignal): Promise<string> {
    const credentials = await this.#required();
    if (!this.#isEnding(credentials)) return credentials.access_token;
    try {
      return await raced(this.#refresh(credentials.access_token), signal);
    } catch (error) {
      signal?.throwIfAborted();
      // The server is unreachable for a moment, and the token is still valid.
      if (!this.#isOver(credentials) && error instanceof ProviderError && error.retryable) {
        return credentials.access_token;
      }
      throw error;
    }
  }

  /** Another token than `refused`, which the API did not take. Errors as `token`'s. */
  renew(refused: string, signal?: AbortSignal): Promise<string> {
    return raced(this.#refresh(refused), signal);
  }

  #refresh(stale: string): Promise<string> {
    // Not ended by one request's signal: others wait for it, too.
    this.#refreshing ??= this.#replace(stale).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  #replace(stale: string): Promise<string> {
    const { provider, home, logger } = this.#options;
    return withCredentialsLock(home, provider, async () => {
      const current = await this.#required();
      // Replaced meanwhile by another process or a new login.
      if (current.access_token !== stale && !this.#isEnding(current)) return current.access_token;
      const next = await this.#ask(current);
      this.#options.hide(secretsOf(next));
      await writeCredentials(home, next);
      logger.info({ provider, expires_at: next.expires_at }, "login refreshed");
      return next.access_token;
    });
  }

  async #ask(current: Credentials): Promise<Credentials> {
    const { clock, provider } = this.#options;
    const { refresh_token: refreshToken, endpoint } = current;
    const endpoints = endpoint === undefined ? this.#options.endpoints : recordedEndpoint(endpoint);
    if (refreshToken === null || refreshToken === this.#dead || endpoints === null) {
      throw ended(provider, "the login has ended");
    }
    const asked = clock.now();
    try {
      const tokens = await refreshTokens(endpoints, refreshToken, new AbortController().signal);
      const { refresh_refused: _former, ...kept } = current;
      return {
        ...kept,
        access_token: tokens.accessToken,
        refresh_token: tokens.refreshToken ?? refreshToken,
        expires_at:
          tokens.expiresInS === null ? null : new Date(asked.getTime() + tokens.expiresInS * 1_000).toISOString(),
        scopes: [...(tokens.scopes ?? current.scopes)],
        obtained_at: asked.toISOString(),
      };
    } catch (error) {
      if (!(error instanceof TokenFailure)) throw error;
      if (error.reason.kind !== "refused") throw postponed(provider, error);
      this.#dead = refreshToken;
      await this.#recordRefusal({ ...current, refresh_refused: error.message });
      throw ended(provider, error.message);
    }
  }

  /** For those who look at the login: the call fails in any case. */
  async #recordRefusal(refused: Credentials): Promise<void> {
    const { home, logger } = this.#options;
    await writeCredentials(home, refused).catch((error: unknown) => {
      logger.warn({ err: error }, "the refusal of a login's refresh could not be written down");
    });
  }

  async #required(): Promise<Credentials> {
    const credentials = await this.#read();
    if (credentials === null) throw ended(this.#options.provider, "there is no login");
    return credentials;
  }

  async #read(): Promise<Credentials | null> {
    const { home, provider, hide } = this.#options;
    const credentials = await readCredentials(home, provider);
    if (credentials !== null) hide(secretsOf(credentials));
    return credentials;
  }

  #isEnding(credentials: Credentials): boolean {
    const { expires_at: end, obtained_at: begin } = credentials;
    if (end === null) return false;
    const ahead = Math.min(AHEAD_MS, (Date.parse(end) - Date.parse(begin)) / 10);
    return this.#options.clock.now().getTime() >= Date.parse(end) - ahead;
  }

  #isOver({ expires_at: end }: Credentials): boolean {
    return end !== null && this.#options.clock.now().getTime() >= Date.parse(end);
  }
}

function secretsOf({ access_token: access, refresh_token: refresh, endpoint }: Credentials): string[] {
  return [access, refresh, endpoint?.client_secret].filter((secret) => typeof secret === "string");
}

/** As the beginning of a sentence. */
function subjectOf(login: string): string {
  const server = serverOfLogin(login);
  return server === null ? `Provider "${login}"` : `MCP server "${server}"`;
}

function ended(provider: string, why: string): ProviderError {
  return new ProviderError("PROVIDER_UNAUTHORIZED", `${subjectOf(provider)}: ${why}.`, {
    hint: `Run \`cairn login ${provider}\`.`,
  });
}

function postponed(provider: string, { message, reason }: TokenFailure): ProviderError {
  const code = reason.kind === "unreachable" ? "PROVIDER_UNREACHABLE" : "PROVIDER_SERVER_ERROR";
  return new ProviderError(code, `${subjectOf(provider)}: the login could not be refreshed: ${message}.`, {
    hint: `Try again later; if it stays, run \`cairn login ${provider}\`.`,
  });
}

/** Settles as `work` does, or rejects with the signal's reason; the work continues for the other callers. */
async function raced<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const stop = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: stop.signal });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop.abort();
  }
}
