/** Providers as the agents use them, and where their models are listed. */

import type { Config, ProviderConfig } from "../../../../runtime/config/index.ts";

export interface UsedProvider {
  readonly id: string;
  readonly provider: ProviderConfig;
  /** `needed`: an agent's own; `fallback`: only behind another one; `unused`: nobody names it. */
  readonly use: "needed" | "fallback" | "unused";
}

export function usedProviders(config: Config): readonly UsedProvider[] {
  const agents = Object.values(config.agents);
  const needed = new Set(agents.map(({ provider }) => provider));
  const fallbacks = new Set(agents.flatMap((agent) => agent.fallbacks.map((entry) => entry.split(":", 1)[0] ?? entry)));
  return Object.entries(config.providers).map(([id, provider]) => ({
    id,
    provider,
    use: needed.has(id) ? "needed" : fallbacks.has(id) ? "fallback" : "unused",
  }));
}

export interface ModelList {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The public service of the kind: it wants a key. */
  readonly needsKey: boolean;
}

/** Where the kind's own service is; the addresses of `runtime/host/providers.ts` and of the SDKs. */
const ADDRESSES: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com",
  "openai-compatible": "https://api.openai.com/v1",
  gemini: "https://generativelanguage.googleapis.com/v1beta/openai",
  xai: "https://api.x.ai/v1",
  ollama: "http://127.0.0.1:11434/v1",
};

/** The request that lists a provider's models: it costs nothing, and wants the key. Null for `offline`. */
export function modelList({ kind, base_url: given, api_key: key }: ProviderConfig): ModelList | null {
  const usual = ADDRESSES[kind];
  if (usual === undefined) return null;
  const base = (given ?? usual).replace(/\/+$/, "");
  const needsKey = kind !== "ollama" && base === usual;
  if (kind !== "anthropic") {
    return { url: `${base}/models`, headers: key ? { authorization: `Bearer ${key}` } : {}, needsKey };
  }
  const headers = { "anthropic-version": "2023-06-01", ...(key ? { "x-api-key": key } : {}) };
  return { url: `${base}/v1/models?limit=1`, headers, needsKey };
}

/** An address as it may be shown: without path, query and credentials. */
export function shown(url: string): string {
  return URL.parse(url)?.origin ?? "an invalid address";
}
