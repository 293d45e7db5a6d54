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
import { type LoginEndpoints, loginOf, serverLoginId, serverOfLogin, takesLogin } from "../config/logins.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";
import type { GivenLogin, LoginRecord, Logins } from "../contracts/logins.ts";
import type { Clock } from "../contracts/ports.ts";

export interface LoginsDeps {
  readonly config: Pick<Config, "providers" | "mcp">;
  readonly home: string;
  readonly clock: Clock;
  /** Told of every token, so that no log shows it. */
  readonly hide: (secrets: readonly string[]) => void;
}

export function createLogins({ config, home, clock, hide }: LoginsDeps): Logins {
  const { providers } = config;
  const { servers } = config.mcp;

  function endpointsOf(id: string): LoginEndpoints {
    const provider = Object.hasOwn(providers, id) ? providers[id] : undefined;
    const endpoints = provider === undefined ? null : loginOf(provider);
    if (endpoints !== null) return endpoints;
    throw new RuntimeError("RUNTIME_NOT_FOUND", `This node has no provider ${id} with a login.`, {
      hint: `Its configuration needs providers.${id}.login; a deployed node gets it with \`cairn infra up\`.`,
    });
  }

  /** Of an MCP server that is an address. */
  function serverAt(id: string): { readonly url: string; readonly isUsed: boolean } {
    const name = serverOfLogin(id) ?? "";
    const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
    if (server?.url !== undefined) return { url: server.url, isUsed: takesLogin(server) };
    throw new RuntimeError("RUNTIME_NOT_FOUND", `This node has no MCP server ${name} with an address.`, {
      hint: `Its configuration needs mcp.servers.${name}.url; a deployed node gets it with \`cairn infra up\`.`,
    });
  }

  async function recordOf(
    id: string,
    of: { readonly endpoints: LoginEndpoints } | { readonly url: string; readonly isUsed: boolean },
  ): Promise<LoginRecord> {
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
      ...("url" in of
        ? {
            key_comes_first: !of.isUsed,
            client_id: credentials?.endpoint?.client_id ?? null,
            token_url: credentials?.endpoint?.token_url ?? null,
            server_url: of.url,
          }
        : {
            key_comes_first: providers[id]?.api_key !== undefined,
            client_id: of.endpoints.clientId,
            token_url: of.endpoints.tokenUrl,
            server_url: null,
          }),
      problem,
    };
  }

  async function storeOfServer(id: string, login: GivenLogin): Promise<LoginRecord> {
    const server = serverAt(id);
    if (!server.isUsed) throw unusedByServer(id);
    if (login.server?.server_url !== server.url) throw foreignServer(id);
    const credentials = credentialsOf(id, login, clock.now());
    await withCredentialsLock(home, id, () => writeCredentials(home, credentials));
    return recordOf(id, server);
  }

  return {
    list: () =>
      Promise.all([
        ...Object.entries(providers).flatMap(([id, provider]) => {
          const endpoints = loginOf(provider);
          return endpoints === null ? [] : [recordOf(id, { endpoints })];
        }),
        ...Object.entries(servers).flatMap(([name, server]) =>
          server.url === undefined || !takesLogin(server)
            ? []
            : [recordOf(serverLoginId(name), { url: server.url, isUsed: true })],
        ),
      ]),
    async store(id, login) {
      const { access_token, refresh_token, server } = login;
      hide([access_token, refresh_token, server?.client_secret].filter((secret) => typeof secret === "string"));
      if (serverOfLogin(id) !== null) return storeOfServer(id, login);
      const endpoints = endpointsOf(id);
      if (providers[id]?.api_key !== undefined) throw unused(id);
      if (login.client_id !== endpoints.clientId) throw foreign(id, "client_id");
      if (login.token_url !== endpoints.tokenUrl) throw foreign(id, "token_url");
      const credentials = credentialsOf(id, login, clock.now());
      await withCredentialsLock(home, id, () => writeCredentials(home, credentials));
      return recordOf(id, { endpoints });
    },
    async remove(id) {
      // Also where the configuration has no login any more: what is there must not stay for ever.
      const server = serverOfLogin(id);
      if (!Object.hasOwn(server === null ? providers : servers, server ?? id)) {
        const what = server === null ? `provider ${id}` : `MCP server ${server}`;
        throw new RuntimeError("RUNTIME_NOT_FOUND", `This node has no ${what}.`);
      }
      return withCredentialsLock(home, id, () => removeCredentials(home, id));
    },
  };
}

/** By this node's clock: that of the machine where somebody logged in may be another one. */
function credentialsOf(provider: string, login: GivenLogin, now: Date): Credentials {
  const { access_token, refresh_token, expires_in: seconds, scopes, server, client_id, token_url } = login;
  return {
    schema: 1,
    provider,
    access_token,
    refresh_token,
    expires_at: seconds === null ? null : new Date(now.getTime() + seconds * 1_000).toISOString(),
    scopes: [...scopes],
    obtained_at: now.toISOString(),
    ...(server === undefined ? {} : { endpoint: { ...server, client_id, token_url } }),
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

function unusedByServer(id: string): RuntimeError {
  const path = `mcp.servers.${serverOfLogin(id)}.headers`;
  return new RuntimeError(
    "RUNTIME_CONFLICT",
    `The node sends the authorization of ${path}, and would not use a login.`,
    {
      hint: "Remove it from cairn.yaml, bring that to the node (`cairn infra up`), and log in then.",
    },
  );
}

function foreignServer(id: string): RuntimeError {
  const path = `mcp.servers.${serverOfLogin(id)}.url`;
  return new RuntimeError("RUNTIME_CONFLICT", `The node's ${path} is not the address that this login is for.`, {
    hint: "Bring the configuration to the node with `cairn infra up`, and log in again.",
  });
}
