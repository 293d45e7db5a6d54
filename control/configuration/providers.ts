/** `provider` and `model`: which backend answers for an agent, and with which model. */

import type { Document } from "yaml";
import type { Config, ProviderConfig } from "../../runtime/config/index.ts";
import { keyVariable, knownProvider } from "../../runtime/config/known-ids.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";
import { SERVICES } from "../wizard/catalogue.ts";
import { loadedConfig, standIn, unknownAgent } from "./current.ts";
import { type Edit, type EditOptions, editConfiguration } from "./edit.ts";
import { requireName } from "./names.ts";
import { deleteOwn, setOwn } from "./own-nodes.ts";

export interface ProviderEntry {
  readonly id: string;
  readonly kind: string;
  readonly model: string;
  readonly base_url: string | null;
  /** `set`, `missing`, `login` in place of one, or `none` where the provider needs no key. Never the key. */
  readonly key: "set" | "missing" | "login" | "none";
  /** Agents that it answers for. */
  readonly agents: readonly string[];
}

export interface Switched extends Edit {
  readonly agent: string;
  readonly provider: string;
  readonly model: string | null;
}

export interface SwitchRequest {
  /** The default agent when absent. */
  readonly agent?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
}

export async function listProviders(deployment: Deployment, signal?: AbortSignal): Promise<readonly ProviderEntry[]> {
  const { config, missing } = await loadedConfig(deployment, signal);
  const unset = new Set(missing.map(standIn));
  return Object.entries(config.providers).map(([id, provider]) => ({
    id,
    kind: provider.kind,
    model: provider.model,
    base_url: provider.base_url ?? null,
    key: keyState(provider, unset),
    agents: Object.entries(config.agents)
      .filter(([, agent]) => agent.provider === id)
      .map(([name]) => name),
  }));
}

function keyState(provider: ProviderConfig, unset: ReadonlySet<string>): ProviderEntry["key"] {
  const { api_key: key, login, kind, base_url: address } = provider;
  if (key !== undefined) return unset.has(key) ? "missing" : "set";
  if (login !== undefined) return "login";
  return keyVariable(kind, address) === null ? "none" : "missing";
}

/**
 * Lets an agent be answered by another provider, another model or both. A provider that the file does not have is added
 * when it is a well-known one. The agent's own model is dropped with its provider: it was that provider's.
 */
export async function switchProvider(
  deployment: Deployment,
  request: SwitchRequest,
  options: EditOptions = {},
): Promise<Switched> {
  const { config } = await loadedConfig(deployment, options.signal);
  const name = request.agent ?? config.runtime.default_agent;
  const agent = config.agents[name];
  if (!Object.hasOwn(config.agents, name) || agent === undefined) throw unknownAgent(name, config);
  const provider = request.provider ?? agent.provider;
  const edit = await editConfiguration(
    deployment,
    (document) => {
      if (request.provider !== undefined || request.baseUrl !== undefined)
        ensureProvider(document, provider, request.baseUrl, request.model);
      if (provider !== agent.provider) {
        setOwn(document, ["agents", name, "provider"], provider);
        deleteOwn(document, ["agents", name, "model"]);
      }
      if (request.model !== undefined) setModel(document, config, { name, provider, model: request.model });
    },
    options,
  );
  return { ...edit, agent: name, provider, model: request.model ?? modelOf(config, provider) };
}

/** Adds a well-known provider that the file lacks. RUNTIME_NOT_FOUND, with what is known, for any other. */
export function ensureProvider(document: Document, id: string, baseUrl: string | undefined, model?: string): void {
  if (document.hasIn(["providers", id])) {
    if (baseUrl !== undefined) setOwn(document, ["providers", id, "base_url"], baseUrl);
    return;
  }
  requireName(id, "a provider's id");
  const service = SERVICES.find((candidate) => candidate.id === id);
  const preset = knownProvider(id);
  const kind = service?.kind ?? preset?.kind ?? (baseUrl === undefined ? undefined : "openai-compatible");
  if (kind === undefined) {
    throw new RuntimeError(
      "RUNTIME_NOT_FOUND",
      `There is no provider ${id} in cairn.yaml, and it is no well-known one.`,
      {
        hint: `Pass --base-url for an OpenAI-compatible API. Well-known are: ${SERVICES.map((one) => one.id).join(", ")}, ollama, offline.`,
      },
    );
  }
  const address = baseUrl ?? service?.baseUrl ?? preset?.baseUrl;
  const chosen = model ?? (kind === "offline" ? undefined : service?.model);
  if (chosen === undefined && kind !== "offline") {
    throw new ConfigError("CONFIG_INVALID", `No model is given for ${id}, and it has no usual one.`, {
      hint: "Pass --model.",
    });
  }
  const variable = service?.keyVariables[0] ?? keyVariable(kind, baseUrl) ?? undefined;
  const entry = {
    kind,
    ...(address === undefined || kind === "offline" ? {} : { base_url: address }),
    ...(chosen === undefined ? {} : { model: chosen }),
    ...(variable === undefined || (baseUrl !== undefined && service?.baseUrl !== baseUrl)
      ? {}
      : { api_key: `\${${variable}}` }),
  };
  setOwn(document, ["providers", id], document.createNode(entry));
}

/** At the agent where the provider serves others too, so that only this agent changes; else at the provider. */
function setModel(
  document: Document,
  config: Config,
  { name, provider, model }: { readonly name: string; readonly provider: string; readonly model: string },
): void {
  const shared = Object.entries(config.agents).some(([other, agent]) => other !== name && agent.provider === provider);
  const own = config.agents[name];
  const atAgent = shared || (own?.model !== undefined && own.provider === provider);
  setOwn(document, atAgent ? ["agents", name, "model"] : ["providers", provider, "model"], model);
}

function modelOf(config: Config, provider: string): string | null {
  return config.providers[provider]?.model ?? SERVICES.find(({ id }) => id === provider)?.model ?? null;
}
