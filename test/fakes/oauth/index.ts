/**
 * An authorization server on loopback that takes PKCE and rotation seriously: a code counts once and with the verifier of
 * its challenge, a refresh token counts once, and using one again ends the whole login, as RFC 9700 asks for. Each code
 * begins a login of its own.
 */

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface OAuthFakeOptions {
  readonly clientId: string;
  /** Seconds that access tokens count; default an hour. */
  readonly expiresInS?: number;
  readonly withoutRefresh?: boolean;
  /** What tokens have to be for, at the page and at the token endpoint (RFC 8707); default: nothing is to be named. */
  readonly resource?: string;
  /** Says of itself where it is, and registers programs (RFC 8414, RFC 7591): such as have a secret, or such as have none. */
  readonly registers?: "public" | "confidential";
  /** In place of what it says of itself. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface OAuthFault {
  /** The token endpoint answers once this has resolved. */
  readonly hold?: Promise<unknown>;
  /** Answers with this status and no OAuth. */
  readonly status?: number;
  /** Answers 200 with a page. */
  readonly garbage?: boolean;
}

export interface OAuthFake {
  readonly url: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Requests of each grant at the token endpoint, and registrations. */
  readonly counts: {
    readonly authorization_code: number;
    readonly refresh_token: number;
    readonly registrations: number;
  };
  /** Of a program that it has registered as a confidential one. */
  readonly clientSecret: string;
  /** Of the newest login, the token that counts now; the one before it is dead. */
  accessToken(): string | null;
  /** Whether an access token counts now, of whichever login. */
  accepts(token: string | undefined): boolean;
  /** All tokens that were ever given, former ones too. */
  issued(): readonly string[];
  /** Whether a refresh token was used a second time. */
  reused(): boolean;
  /** For the next requests to the token endpoint, in order. */
  fail(...faults: readonly OAuthFault[]): void;
  /** Ends the access tokens that count now; their refresh tokens still count. */
  expire(): void;
  /** What a user does at the page: the address that the browser is sent back to. */
  consent(authorizeUrl: string, answer?: "allow" | "deny"): string;
  close(): Promise<void>;
}

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
}

interface Login {
  access: { readonly token: string; readonly endsAt: number } | null;
  refresh: string | null;
  readonly spent: Set<string>;
}

export async function startOAuthFake(options: OAuthFakeOptions): Promise<OAuthFake> {
  const codes = new Map<string, Grant>();
  const logins: Login[] = [];
  const issued: string[] = [];
  const faults: OAuthFault[] = [];
  const counts = { authorization_code: 0, refresh_token: 0, registrations: 0 };
  const { expiresInS = 3_600 } = options;
  const clientSecret = `secret-${randomBytes(18).toString("base64url")}`;
  /** Addresses that the browser may be sent back to, once a program has been registered. */
  let registered: readonly string[] | null = null;
  let reused = false;

  const issue = (response: ServerResponse, login: Login): void => {
    const token = `access-${randomBytes(18).toString("base64url")}`;
    login.access = { token, endsAt: Date.now() + expiresInS * 1_000 };
    login.refresh = `refresh-${randomBytes(18).toString("base64url")}`;
    issued.push(token, login.refresh);
    json(response, 200, {
      access_token: token,
      token_type: "Bearer",
      expires_in: expiresInS,
      scope: "user:inference",
      ...(options.withoutRefresh ? {} : { refresh_token: login.refresh }),
    });
  };

  const countsNow = (login: Login | undefined): string | null =>
    login?.access && Date.now() < login.access.endsAt ? login.access.token : null;

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const grant = form.get("grant_type");
    if (grant === "authorization_code" || grant === "refresh_token") counts[grant] += 1;
    const fault = faults.shift();
    await fault?.hold;
    if (fault?.status) return json(response, fault.status, { message: "broken" });
    if (fault?.garbage) return void response.end("<!doctype html><title>Hello</title>");
    if (!isClient(request, form)) return json(response, 401, { error: "invalid_client" });
    if (form.get("resource") !== (options.resource ?? null)) return json(response, 400, { error: "invalid_target" });
    if (grant === "authorization_code") return exchange(form, response);
    if (grant === "refresh_token") return renew(form.get("refresh_token") ?? "", response);
    json(response, 400, { error: "unsupported_grant_type" });
  }

  function isClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
    if (options.registers !== "confidential") return form.get("client_id") === options.clientId;
    const given = Buffer.from(headers.authorization?.replace(/^Basic /, "") ?? "", "base64").toString();
    // Each is encoded by itself (RFC 6749, section 2.3.1).
    return given.split(":").map(decodeURIComponent).join(":") === `${options.clientId}:${clientSecret}`;
  }

  async function register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    counts.registrations += 1;
    const asked = JSON.parse(await text(request));
    const right =
      Array.isArray(asked.redirect_uris) &&
      asked.redirect_uris.every((uri: unknown) => /^http:\/\/127[.]0[.]0[.]1:\d+\//.test(String(uri))) &&
      asked.response_types?.join() === "code";
    if (!right) return json(response, 400, { error: "invalid_client_metadata", error_description: "Not so." });
    registered = asked.redirect_uris;
    const secret =
      options.registers === "confidential" ? { client_secret: clientSecret, client_secret_expires_at: 0 } : {};
    json(response, 201, { ...asked, client_id: options.clientId, ...secret });
  }

  function exchange(form: URLSearchParams, response: ServerResponse): void {
    const code = form.get("code") ?? "";
    const granted = codes.get(code);
    codes.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const right =
      granted !== undefined && challenge === granted.challenge && form.get("redirect_uri") === granted.redirectUri;
    if (!right) {
      json(response, 400, { error: "invalid_grant" });
      return;
    }
    const login: Login = { access: null, refresh: null, spent: new Set() };
    logins.push(login);
    issue(response, login);
  }

  function renew(given: string, response: ServerResponse): void {
    const login = logins.find((one) => one.refresh === given);
    if (login !== undefined) {
      login.spent.add(given);
      issue(response, login);
      return;
    }
    const ended = logins.find((one) => one.spent.has(given));
    if (ended !== undefined) {
      reused = true;
      ended.access = null;
      ended.refresh = null;
    }
    json(response, 400, { error: "invalid_grant", error_description: "That refresh token does not count." });
  }

  const server = createServer((request, response) => {
    if (request.method === "POST" && request.url === "/token") void token(request, response);
    else if (options.registers && request.url === "/.well-known/oauth-authorization-server") {
      json(response, 200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: [options.registers === "public" ? "none" : "client_secret_basic"],
        ...options.metadata,
      });
    } else if (request.method === "POST" && options.registers && request.url === "/register") {
      void register(request, response);
    } else json(response, 404, { error: "not_found" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    authorizeUrl: `${url}/authorize`,
    tokenUrl: `${url}/token`,
    counts,
    clientSecret,
    accessToken: () => countsNow(logins.at(-1)),
    accepts: (token) => token !== undefined && logins.some((login) => countsNow(login) === token),
    issued: () => issued,
    reused: () => reused,
    fail: (...more) => void faults.push(...more),
    expire: () => {
      for (const login of logins) login.access = null;
    },
    consent(address, answer = "allow") {
      const { searchParams: asked } = new URL(address);
      const back = new URL(asked.get("redirect_uri") ?? "");
      const isRegistered = registered === null || registered.includes(back.href);
      const state = asked.get("state");
      if (state !== null) back.searchParams.set("state", state);
      const right =
        asked.get("response_type") === "code" &&
        asked.get("client_id") === options.clientId &&
        asked.get("code_challenge_method") === "S256" &&
        /^[\w-]{43}$/.test(asked.get("code_challenge") ?? "") &&
        asked.get("resource") === (options.resource ?? null) &&
        isRegistered;
      if (!right) throw new Error(`The question is not a right one: ${address}`);
      if (answer === "deny") {
        back.searchParams.set("error", "access_denied");
        back.searchParams.set("error_description", "The user said no");
        return back.href;
      }
      const code = randomBytes(12).toString("base64url");
      codes.set(code, { challenge: asked.get("code_challenge") ?? "", redirectUri: asked.get("redirect_uri") ?? "" });
      back.searchParams.set("code", code);
      return back.href;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}
