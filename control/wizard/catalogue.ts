/** The services and local servers that a setup offers by name: their addresses, keys and lists of models. */

import type { Environment } from "../../runtime/config/index.ts";
import type { ProviderService } from "../../runtime/plugins/providers/manifest.ts";
import { PROVIDERS } from "../../runtime/plugins/providers/manifests.ts";

export interface CatalogueEntry {
  readonly id: string;
  readonly kind: Exclude<(typeof PROVIDERS)[number]["id"], "offline">;
  readonly baseUrl?: string;
  /** Variables that may hold the key, the usual one first. */
  readonly keyVariables: readonly string[];
  readonly model: string;
}

/** In order of preference: the first one whose key is in the environment is taken. */
export const SERVICES: readonly CatalogueEntry[] = PROVIDERS.flatMap(({ id: kind, services }) =>
  services.flatMap(({ id, baseUrl, keyVariables = [], model }: ProviderService): CatalogueEntry[] => {
    if (kind === "offline" || model === undefined) return [];
    // A plugin has the address of its own kind.
    return [{ id, kind, keyVariables, model, ...(id === kind || baseUrl === undefined ? {} : { baseUrl }) }];
  }),
);

/** Those that run on this machine. */
const LOCAL = PROVIDERS.flatMap(({ services }) =>
  services.flatMap(({ id, baseUrl, local }: ProviderService) =>
    local && baseUrl ? [{ id, origin: new URL(baseUrl).origin, ...local }] : [],
  ),
);

export interface LocalServer {
  readonly id: string;
  readonly name: string;
  /** Where its list of models is, and how the list is written. */
  readonly modelsUrl: string;
  readonly list: "ollama" | "openai";
  /** Its API: Ollama's own, or the OpenAI-compatible one. */
  readonly baseUrl: string;
}

/** Local model servers on their usual ports; OLLAMA_HOST says where Ollama is instead, as it does for Ollama itself. */
export function localServers(env: Environment): LocalServer[] {
  return LOCAL.map(({ id, name, origin, list }) =>
    localServer(id, name, id === "ollama" ? ollamaOrigin(env["OLLAMA_HOST"], origin) : origin, list),
  );
}

/** The server that OPENAI_BASE_URL names in place of OpenAI, as it does for OpenAI's SDKs; undefined where it names none. */
export function openaiGateway(env: Environment): string | undefined {
  return env["OPENAI_BASE_URL"]?.replace(/\/+$/, "") || undefined;
}

export function localServer(id: string, name: string, origin: string, list: LocalServer["list"]): LocalServer {
  const modelsUrl = list === "ollama" ? `${origin}/api/tags` : `${origin}/v1/models`;
  return { id, name, modelsUrl, list, baseUrl: list === "ollama" ? origin : `${origin}/v1` };
}

function ollamaOrigin(host: string | undefined, usual: string): string {
  if (!host) return usual;
  const parsed = URL.parse(/^https?:\/\//.test(host) ? host : `http://${host}`);
  if (!parsed) return usual;
  // For the server the variable is where it listens: on all addresses means on this machine's own, too.
  if (parsed.hostname === "0.0.0.0" || parsed.hostname === "[::]") parsed.hostname = "127.0.0.1";
  const written = /:\d+\/?$/.test(host);
  if (parsed.port === "" && !written && !/^https?:/.test(host)) parsed.port = "11434";
  return parsed.origin;
}
