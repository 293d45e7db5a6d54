/** Providers as the agents use them, and where their models are listed. */

import { type Config, type ProviderConfig, serviceOfKind } from "../../../runtime/config/index.ts";
import type { ModelListRequest, ProviderManifest } from "../../../runtime/plugins/providers/manifest.ts";
import { PROVIDERS } from "../../../runtime/plugins/providers/manifests.ts";

export interface UsedProvider {
  readonly id: string;
  readonly provider: ProviderConfig;
  /** `needed`: an agent's own; `fallback`: only behind another one; `unused`: no agent names it. */
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

export interface ModelList extends ModelListRequest {
  /** The public service of the kind: it wants a key. */
  readonly needsKey: boolean;
}

/** The request that lists a provider's models: it costs nothing, and wants the key. Null for `offline`. */
export function modelList({ kind, base_url: given, api_key: key }: ProviderConfig): ModelList | null {
  const manifest = PROVIDERS.find(({ kinds }: ProviderManifest) => kinds.includes(kind)) as
    | ProviderManifest
    | undefined;
  const own = serviceOfKind(kind);
  if (!manifest?.models || own?.baseUrl === undefined) return null;
  const base = (given ?? own.baseUrl).replace(/\/+$/, "");
  return { ...manifest.models(base, key), needsKey: own.local === undefined && base === own.baseUrl };
}

/** An address as it may be shown: without path, query and credentials. */
export function shown(url: string): string {
  return URL.parse(url)?.origin ?? "an invalid address";
}
