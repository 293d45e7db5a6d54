/** The routes over subscription logins as functions. */

import type { GivenLogin, LoginRecord } from "../contracts/logins.ts";
import { type Connection, call } from "./http.ts";
import type { CallOptions } from "./types.ts";

/** Of the very node that answers. */
export interface LoginCalls {
  /** RUNTIME_NOT_FOUND: a node of a version that takes none. */
  logins(options?: CallOptions): Promise<readonly LoginRecord[]>;
  /** RUNTIME_NOT_FOUND for a provider without a login in the node's configuration, RUNTIME_CONFLICT where the node could not use it. */
  storeLogin(provider: string, login: GivenLogin, options?: CallOptions): Promise<LoginRecord>;
  /** RUNTIME_NOT_FOUND for a provider that the node's configuration does not have. */
  removeLogin(provider: string, options?: CallOptions): Promise<{ readonly removed: boolean }>;
}

export function loginCalls(connection: Connection): LoginCalls {
  const path = (provider: string) => `/api/admin/logins/${encodeURIComponent(provider)}`;
  return {
    logins: async (given) =>
      (await call<{ logins: readonly LoginRecord[] }>(connection, "/api/admin/logins", given)).logins,
    storeLogin: (provider, login, given) => call(connection, path(provider), { method: "PUT", json: login, ...given }),
    removeLogin: (provider, given) => call(connection, path(provider), { method: "DELETE", ...given }),
  };
}
