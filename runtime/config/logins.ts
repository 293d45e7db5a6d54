/** Where a login happens: of a provider from the configuration and its manifest, of an MCP server from what it says itself. Pure. */

import type { ProviderLogin, ProviderManifest } from "../plugins/providers/manifest.ts";
import { PROVIDERS } from "../plugins/providers/manifests.ts";
import type { Config, ProviderConfig } from "./config.ts";
import type { LoginEndpointRecord } from "./credentials.ts";
import { PROVIDER_KINDS } from "./known-ids.ts";

/** OAuth endpoints, and the client id: of a provider that of a registration of the operator's own, as none comes with the program. */
export interface LoginEndpoints extends ProviderLogin {
  readonly clientId: string;
  /** Of a client that has one, and how it is sent. */
  readonly clientSecret?: string | undefined;
  readonly clientAuth?: "client_secret_basic" | "client_secret_post" | undefined;
  /** As the login server names itself; the origin of `tokenUrl` when absent. */
  readonly issuer?: string | undefined;
  /** What the tokens are for (RFC 8707). */
  readonly resource?: string | undefined;
}

const MANIFESTS: readonly ProviderManifest[] = PROVIDERS;
const LOGINS = new Map(MANIFESTS.flatMap(({ logins = {} }) => Object.entries(logins)));

/** Kinds of providers with a subscription login. */
export const LOGIN_KINDS: readonly string[] = PROVIDER_KINDS.filter((kind) => LOGINS.has(kind));

/** Null where the configuration has no `login` for the provider, or its kind has none. */
export function loginOf({ kind, login }: Pick<ProviderConfig, "kind" | "login">): LoginEndpoints | null {
  const endpoints = LOGINS.get(kind);
  if (endpoints === undefined || login === undefined) return null;
  return {
    authorizeUrl: login.authorize_url ?? endpoints.authorizeUrl,
    tokenUrl: login.token_url ?? endpoints.tokenUrl,
    clientId: login.client_id,
    scopes: login.scopes ?? endpoints.scopes,
  };
}

const SERVER_PREFIX = "mcp.";

/** Id of an MCP server's login. No provider's id has a point. */
export function serverLoginId(server: string): string {
  return `${SERVER_PREFIX}${server}`;
}

/** Null for a provider's login. */
export function serverOfLogin(id: string): string | null {
  return id.startsWith(SERVER_PREFIX) ? id.slice(SERVER_PREFIX.length) : null;
}

/** Whether a login would be used: not by a program, and not where an authorization is written down. */
export function takesLogin({ url, headers }: Config["mcp"]["servers"][string]): boolean {
  return url !== undefined && !Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
}

/** What a refresh of the login needs. */
export function recordedEndpoint(record: LoginEndpointRecord): LoginEndpoints {
  const { issuer, token_url, client_id, client_secret, client_auth, resource } = record;
  return {
    // Refreshing asks nobody at a page.
    authorizeUrl: token_url,
    tokenUrl: token_url,
    clientId: client_id,
    clientSecret: client_secret ?? undefined,
    clientAuth: client_auth ?? undefined,
    issuer,
    resource: resource ?? undefined,
    scopes: [],
  };
}

/** Whether an address may be given a secret: encrypted, or on this machine. */
export function isConfidential(address: string): boolean {
  const url = URL.parse(address);
  if (url === null) return false;
  return url.protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
}
