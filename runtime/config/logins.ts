/** Where a provider's subscription login happens: from the configuration and the known endpoints. Pure. */

import type { ProviderConfig } from "./config.ts";
import type { ProviderKind } from "./known-ids.ts";

/** A provider's OAuth endpoints, and the client id. */
export interface LoginEndpoints {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Of a registration of the operator's own: none comes with the program. */
  readonly clientId: string;
  readonly scopes: readonly string[];
}

const ENDPOINTS: Readonly<Partial<Record<ProviderKind, Omit<LoginEndpoints, "clientId">>>> = {
  anthropic: {
    authorizeUrl: "https://claude.ai/oauth/authorize",
    tokenUrl: "https://console.anthropic.com/v1/oauth/token",
    scopes: ["user:profile", "user:inference"],
  },
};

/** Kinds of providers with a subscription login. */
export const LOGIN_KINDS: readonly ProviderKind[] = ["anthropic"];

/** Null where the configuration has no `login` for the provider, or its kind has none. */
export function loginOf({ kind, login }: Pick<ProviderConfig, "kind" | "login">): LoginEndpoints | null {
  const endpoints = ENDPOINTS[kind];
  if (endpoints === undefined || login === undefined) return null;
  return {
    authorizeUrl: login.authorize_url ?? endpoints.authorizeUrl,
    tokenUrl: login.token_url ?? endpoints.tokenUrl,
    clientId: login.client_id,
    scopes: login.scopes ?? endpoints.scopes,
  };
}

/** Whether an address may be given a secret: encrypted, or on this machine. */
export function isConfidential(address: string): boolean {
  const url = URL.parse(address);
  if (url === null) return false;
  return url.protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
}
