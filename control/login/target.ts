/** Which provider a login is about, and its configuration. */

import { type Config, LOGIN_KINDS, type LoginEndpoints, loginOf } from "../../runtime/config/index.ts";
import { knownProvider } from "../../runtime/config/known-ids.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { loadedConfig } from "../configuration/current.ts";
import { editConfiguration } from "../configuration/edit.ts";
import { setOwn } from "../configuration/own-nodes.ts";
import type { Deployment } from "../service/deployment.ts";

export interface LoginTarget {
  readonly provider: string;
  /** Of this machine; nodes of a deployed stack have home directories of their own. */
  readonly home: string;
  /** Null: the configuration has no client id. */
  readonly endpoints: LoginEndpoints | null;
  /** A key that is written down comes before the login. */
  readonly keyComesFirst: boolean;
}

/** RUNTIME_NOT_FOUND, RUNTIME_INVALID_REQUEST for a provider without a subscription login, errors of the configuration. */
export async function loginTarget(
  deployment: Deployment,
  named: string | undefined,
  signal: AbortSignal,
): Promise<LoginTarget> {
  const { config } = await loadedConfig(deployment, signal);
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
    keyComesFirst: provider.api_key !== undefined,
  };
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
export async function saveClientId(deployment: Deployment, provider: string, clientId: string): Promise<void> {
  await editConfiguration(deployment, (document) => {
    setOwn(document, ["providers", provider, "login", "client_id"], clientId);
  });
}

export function withoutClientId(provider: string): ConfigError {
  return new ConfigError("CONFIG_INVALID", `The login of ${provider} needs a client id, and cairn.yaml has none.`, {
    hint:
      `Register an application with the provider and write its id into cairn.yaml as providers.${provider}.login.client_id, ` +
      "or pass --client-id, which does that. Cairn has none of its own: a client id identifies the application that logs in.",
  });
}
