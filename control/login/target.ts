/** Which provider or MCP server a login is about, and its configuration. */

import {
  type Config,
  LOGIN_KINDS,
  type LoginEndpoints,
  loginOf,
  serverLoginId,
  serverOfLogin,
  takesLogin,
} from "../../runtime/config/index.ts";
import { knownProvider } from "../../runtime/config/known-ids.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { loadedConfig } from "../configuration/current.ts";
import { editConfiguration } from "../configuration/edit.ts";
import { setOwn } from "../configuration/own-nodes.ts";
import type { Deployment } from "../service/deployment.ts";

/** An MCP server of the configuration. */
export interface LoginServer {
  /** As in `mcp.servers.<id>`. */
  readonly id: string;
  readonly url: string;
  /** Of a registration of the operator's own. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[] | undefined;
}

export interface LoginTarget {
  /** Of the login: a provider's id, or `mcp.<id>`. */
  readonly provider: string;
  /** Of this machine; nodes of a deployed stack have home directories of their own. */
  readonly home: string;
  /** Null: the configuration has no client id, or it is an MCP server, which says where its logins are. */
  readonly endpoints: LoginEndpoints | null;
  /** Null for a provider. */
  readonly server: LoginServer | null;
  /** A key or an authorization that is written down comes before the login. */
  readonly keyComesFirst: boolean;
}

/** RUNTIME_NOT_FOUND, RUNTIME_INVALID_REQUEST for a provider without a subscription login, errors of the configuration. */
export async function loginTarget(
  deployment: Deployment,
  named: string | undefined,
  signal: AbortSignal,
): Promise<LoginTarget> {
  const { config } = await loadedConfig(deployment, signal);
  const server = serverOfLogin(named ?? "");
  if (server !== null) return serverTarget(deployment, config, server);
  const id = named ?? chooseProvider(config.providers);
  const provider = id !== undefined && Object.hasOwn(config.providers, id) ? config.providers[id] : undefined;
  if (id === undefined || provider === undefined) {
    throw new RuntimeError("RUNTIME_NOT_FOUND", `cairn.yaml has no provider ${id ?? "with a subscription login"}.`, {
      hint: addingHint(id),
    });
  }
  if (!LOGIN_KINDS.includes(provider.kind)) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${id} (${provider.kind}) has no subscription login.`, {
      hint: `Kinds that have one: ${LOGIN_KINDS.join(", ")}. Others take an API key.`,
    });
  }
  return {
    provider: id,
    home: deployment.home,
    endpoints: loginOf(provider),
    server: null,
    keyComesFirst: provider.api_key !== undefined,
  };
}

function serverTarget({ home }: Deployment, { mcp }: Config, id: string): LoginTarget {
  const server = Object.hasOwn(mcp.servers, id) ? mcp.servers[id] : undefined;
  if (server === undefined) {
    throw new RuntimeError("RUNTIME_NOT_FOUND", `cairn.yaml has no MCP server ${id}.`, {
      hint: `Servers that are an address: ${addressed(mcp).join(", ") || "none"}.`,
    });
  }
  const { url, login } = server;
  if (url === undefined) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `The MCP server ${id} is a program, which has no login.`, {
      hint: `Give it what it needs with mcp.servers.${id}.env.`,
    });
  }
  const { client_id: clientId, client_secret: clientSecret, scopes } = login ?? {};
  return {
    provider: serverLoginId(id),
    home,
    endpoints: null,
    server: { id, url, clientId, clientSecret, scopes },
    keyComesFirst: !takesLogin(server),
  };
}

function addressed({ servers }: Config["mcp"]): readonly string[] {
  return Object.entries(servers).flatMap(([id, { url }]) => (url === undefined ? [] : [serverLoginId(id)]));
}

/** Only a provider that `cairn provider` takes is one to add. Pure. */
function addingHint(id: string | undefined): string {
  const preset = id === undefined ? undefined : knownProvider(id);
  if (id !== undefined && (preset === undefined || !LOGIN_KINDS.includes(preset.kind))) {
    return `A subscription login has: ${LOGIN_KINDS.join(", ")}. See those of cairn.yaml with \`cairn provider\`.`;
  }
  return `Add one with \`cairn provider ${id ?? "anthropic"}\`.`;
}

/** The one with a login, else the only kind that could have one. Pure. */
function chooseProvider(providers: Config["providers"]): string | undefined {
  const able = Object.entries(providers).filter(([, { kind }]) => LOGIN_KINDS.includes(kind));
  const [id] = able.find(([, { login }]) => login !== undefined) ?? able[0] ?? [];
  return id;
}

/** Writes the client id into cairn.yaml, in place. */
export async function saveClientId(deployment: Deployment, target: LoginTarget, clientId: string): Promise<void> {
  const { provider, server } = target;
  const owner = server === null ? ["providers", provider] : ["mcp", "servers", server.id];
  await editConfiguration(deployment, (document) => {
    setOwn(document, [...owner, "login", "client_id"], clientId);
  });
}

export function withoutClientId(provider: string): ConfigError {
  return new ConfigError("CONFIG_INVALID", `The login of ${provider} needs a client id, and cairn.yaml has none.`, {
    hint:
      `Register an application with the provider and write its id into cairn.yaml as providers.${provider}.login.client_id, ` +
      "or pass --client-id, which does that. Cairn has none of its own: a client id identifies the application that logs in.",
  });
}

export function withAuthorization({ id }: LoginServer): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `The authorization of mcp.servers.${id}.headers comes before a login.`, {
    hint: "Remove it from cairn.yaml, and log in then.",
  });
}
