/** A home directory in which somebody has logged in at the stand-in server. */

import { onTestFinished } from "vitest";
import { type Credentials, readCredentials, writeCredentials } from "../../../runtime/config/credentials.ts";
import type { LoginEndpoints } from "../../../runtime/config/logins.ts";
import { LoginTokens } from "../../../runtime/host/login-tokens.ts";
import { type OAuthFake, type OAuthFakeOptions, startOAuthFake } from "../../fakes/oauth/index.ts";
import { temporaryDirectory } from "../deployment.ts";
import { quietLogger } from "../quiet-logger.ts";

export const CLIENT_ID = "client-of-the-operator";

export interface LoggedIn {
  readonly home: string;
  readonly oauth: OAuthFake;
  readonly endpoints: LoginEndpoints;
  readonly hidden: string[];
  /** What is on disk. */
  stored(): Promise<Credentials>;
  /** A process of its own, as far as memory goes. */
  tokens(now?: () => Date): LoginTokens;
}

export async function oauthFake(options: Partial<OAuthFakeOptions> = {}): Promise<OAuthFake> {
  const oauth = await startOAuthFake({ clientId: CLIENT_ID, ...options });
  onTestFinished(() => oauth.close());
  return oauth;
}

export function endpointsOf(oauth: OAuthFake): LoginEndpoints {
  const { authorizeUrl, tokenUrl } = oauth;
  return { authorizeUrl, tokenUrl, clientId: CLIENT_ID, scopes: ["user:inference"] };
}

/** `expiresInS`: seconds that the first token still counts, of an hour. */
export async function loggedIn(
  options: { readonly expiresInS: number } & Partial<OAuthFakeOptions>,
): Promise<LoggedIn> {
  const { expiresInS, ...fake } = options;
  const oauth = await oauthFake(fake);
  const home = await temporaryDirectory();
  const hidden: string[] = [];
  const first = await firstTokens(oauth);
  await writeCredentials(home, {
    schema: 1,
    provider: "anthropic",
    access_token: first.access_token,
    refresh_token: fake.withoutRefresh ? null : first.refresh_token,
    expires_at: new Date(Date.now() + expiresInS * 1_000).toISOString(),
    scopes: ["user:inference"],
    obtained_at: new Date(Date.now() - (3_600 - expiresInS) * 1_000).toISOString(),
  });
  const endpoints = endpointsOf(oauth);
  return {
    home,
    oauth,
    endpoints,
    hidden,
    async stored() {
      const found = await readCredentials(home, "anthropic");
      if (found === null) throw new Error("nobody is logged in");
      return found;
    },
    tokens: (now = () => new Date()) =>
      new LoginTokens({
        provider: "anthropic",
        home,
        endpoints,
        clock: { now, monotonic: () => performance.now() },
        logger: quietLogger,
        hide: (secrets) => void hidden.push(...secrets),
      }),
  };
}

/** By the whole way of a login, so that the server knows them. */
async function firstTokens(oauth: OAuthFake): Promise<{ access_token: string; refresh_token: string }> {
  const verifier = "v".repeat(43);
  const { createHash } = await import("node:crypto");
  const question = new URL(oauth.authorizeUrl);
  question.search = new URLSearchParams({
    response_type: "code",
    client_id: CLIENT_ID,
    redirect_uri: "http://127.0.0.1:1/callback",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const code = new URL(oauth.consent(question.href)).searchParams.get("code") ?? "";
  const response = await fetch(oauth.tokenUrl, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: CLIENT_ID,
      code,
      code_verifier: verifier,
      redirect_uri: "http://127.0.0.1:1/callback",
    }),
  });
  // The stand-in's own answer.
  return (await response.json()) as { access_token: string; refresh_token: string };
}
