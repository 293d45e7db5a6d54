/** The logins of this node: what it has, what it is given and what it is to forget. Their use is in login-tokens.ts. */

import {
  type Credentials,
  isUsable,
  problemOf,
  readCredentials,
  removeCredentials,
  withCredentialsLock,
  writeCredentials,
} from "../config/credentials.ts";
import type { Config } from "../config/index.ts";
import { type LoginEndpoints, loginOf } from "../config/logins.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";
import type { GivenLogin, LoginRecord, Logins } from "../contracts/logins.ts";
import type { Clock } from "../contracts/ports.ts";

export interface LoginsDeps {
  readonly providers: Config["providers"];
  readonly home: string;
  readonly clock: Clock;
  /** Told of every token, so that no log shows it. */
  readonly hide: (secrets: readonly string[]) => void;
}

export function createLogins({ providers, home, clock, hide }: LoginsDeps): Logins {
  function endpointsOf(id: string): LoginEndpoints {
    const provider = Object.hasOwn(providers, id) ? providers[id] : undefined;
    const endpoints = provider === undefined ? null : loginOf(provider);
    if (endpoints !== null) return endpoints;
    throw new RuntimeError("RUNTIME_NOT_FOUND", `This node has no provider ${id} with a login.`, {
      hint: `Its configuration needs providers.${id}.login; a deployed node gets it with \`cairn infra up\`.`,
    });
  }

  async function recordOf(id: string, endpoints: LoginEndpoints): Promise<LoginRecord> {
    const read = await readCredentials(home, id).then(
      (credentials) => ({ credentials, problem: credentials === null ? null : problemOf(credentials) }),
      (error: unknown) => ({ credentials: null, problem: reasonOf(error) }),
    );
    const { credentials, problem } = read;
    return {
      provider: id,
      logged_in: credentials !== null && isUsable(credentials, clock.now()),
      expires_at: credentials?.expires_at ?? null,
      renewable: credentials !== null && credentials.refresh_token !== null,
      scopes: credentials?.scopes ?? [],
      key_comes_first: providers[id]?.api_key !== undefined,
      client_id: endpoints.clientId,
      token_url: endpoints.tokenUrl,
      problem,
    };
  }

  return {
    list: () =>
      Promise.all(
        Object.entries(providers).flatMap(([id, provider]) => {
          const endpoints = loginOf(provider);
          return endpoints === null ? [] : [recordOf(id, endpoints)];
        }),
      ),
    async store(id, login) {
      hide([login.access_token, ...(login.refresh_token === null ? [] : [login.refresh_token])]);
      const endpoints = endpointsOf(id);
      if (providers[id]?.api_key !== undefined) throw unused(id);
      if (login.client_id !== endpoints.clientId) throw foreign(id, "client_id");
      if (login.token_url !== endpoints.tokenUrl) throw foreign(id, "token_url");
      const credentials = credentialsOf(id, login, clock.now());
      await withCredentialsLock(home, id, () => writeCredentials(home, credentials));
      return recordOf(id, endpoints);
    },
    async remove(id) {
      // Also where the configuration has no login any more: what is there must not stay for ever.
      if (!Object.hasOwn(providers, id))
        throw new RuntimeError("RUNTIME_NOT_FOUND", `This node has no provider ${id}.`);
      return withCredentialsLock(home, id, () => removeCredentials(home, id));
    },
  };
}

/** By this node's clock: that of the machine where somebody logged in may be another one. */
function credentialsOf(provider: string, login: GivenLogin, now: Date): Credentials {
  const { access_token, refresh_token, expires_in: seconds, scopes } = login;
  return {
    schema: 1,
    provider,
    access_token,
    refresh_token,
    expires_at: seconds === null ? null : new Date(now.getTime() + seconds * 1_000).toISOString(),
    scopes: [...scopes],
    obtained_at: now.toISOString(),
  };
}

function reasonOf(error: unknown): string {
  return error instanceof CairnError ? error.message : "It cannot be read.";
}

function unused(id: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The node uses providers.${id}.api_key, and would not use a login.`, {
    hint: `Remove the key from cairn.yaml, bring that to the node (\`cairn infra up\`), and log in then.`,
  });
}

function foreign(id: string, key: "client_id" | "token_url"): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The node's providers.${id}.login.${key} is not that of this login.`, {
    hint: "Bring the configuration to the node with `cairn infra up`, and log in again.",
  });
}
