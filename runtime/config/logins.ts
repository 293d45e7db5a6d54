/** Where a provider's subscription login happens: from the configuration and the manifests of the providers. Pure. */

import type { ProviderLogin, ProviderManifest } from "../plugins/providers/manifest.ts";
import { PROVIDERS } from "../plugins/providers/manifests.ts";
import type { ProviderConfig } from "./config.ts";
import { PROVIDER_KINDS, type ProviderKind } from "./known-ids.ts";

/** A provider's OAuth endpoints, and the client id. */
export interface LoginEndpoints extends ProviderLogin {
  /** Of a registration of the operator's own: none comes with the program. */
  readonly clientId: string;
}

const MANIFESTS: readonly ProviderManifest[] = PROVIDERS;
const LOGINS = new Map(MANIFESTS.flatMap(({ logins = {} }) => Object.entries(logins)));

/** Kinds of providers with a subscription login. */
export const LOGIN_KINDS: readonly ProviderKind[] = PROVIDER_KINDS.filter((kind) => LOGINS.has(kind));

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

/** Whether an address may be given a secret: encrypted, or on this machine. */
export function isConfidential(address: string): boolean {
  const url = URL.parse(address);
  if (url === null) return false;
  return url.protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
}
