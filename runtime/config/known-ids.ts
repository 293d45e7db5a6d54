/** Provider and channel ids whose kind (and address, and key variable) need not be written down: from the manifests. */

import { agent } from "../plugins/channels/agent/manifest.ts";
import { CHANNELS, CHAT_CHANNELS } from "../plugins/channels/manifests.ts";
import type { ProviderManifest, ProviderService } from "../plugins/providers/manifest.ts";
import { PROVIDERS } from "../plugins/providers/manifests.ts";

type Kinds = (typeof PROVIDERS)[number]["kinds"][number];

const [anthropic, ollama, openaiCompatible, gemini, xai, offline] = PROVIDERS;
export const PROVIDER_KINDS = [
  ...anthropic.kinds,
  ...openaiCompatible.kinds,
  ...gemini.kinds,
  ...xai.kinds,
  ...ollama.kinds,
  ...offline.kinds,
] as const;
export type ProviderKind = Kinds;

/** Those that are reached with a bot's token. */
export const CHAT_KINDS: readonly (typeof CHAT_CHANNELS)[number]["id"][] = CHAT_CHANNELS.map(({ id }) => id);
const BUILT_KINDS: readonly (typeof CHANNELS)[number]["id"][] = CHANNELS.map(({ id }) => id);
/** With those that this version has not built yet. */
export const CHANNEL_KINDS = [agent.id, ...BUILT_KINDS, "console"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export interface KnownProvider {
  readonly kind: ProviderKind;
  /** Absent: the kind's own address. */
  readonly baseUrl?: string;
}

const SERVICES: readonly (ProviderService & { readonly kind: ProviderKind })[] = PROVIDERS.flatMap(({ services }) => [
  ...services,
]);

/** Where the kind's own service is, if it has one, and what it wants. */
export function serviceOfKind(kind: string): ProviderService | undefined {
  return SERVICES.find((service) => service.id === kind && service.kind === kind);
}

/** Tokens that the kind's models can read at an address, where that is other than usual. */
export function contextWindowOfKind(kind: string, baseUrl: string): number | undefined {
  const manifests: readonly ProviderManifest[] = PROVIDERS;
  return manifests.find(({ kinds }) => kinds.includes(kind))?.contextWindow?.(baseUrl);
}

/**
 * The variable that usually holds a provider's key, or null where none is expected. A provider with an address of its
 * own gets none: the key of the public service is never sent to another server implicitly.
 */
export function keyVariable(kind: string, baseUrl: string | undefined): string | null {
  const service =
    baseUrl === undefined
      ? serviceOfKind(kind)
      : SERVICES.find((one) => one.id !== one.kind && one.baseUrl === baseUrl);
  return service?.keyVariables?.[0] ?? null;
}

export function knownProvider(id: string): KnownProvider | undefined {
  const service = SERVICES.find((one) => one.id === id);
  if (!service) return undefined;
  const { kind, baseUrl } = service;
  return kind === id || baseUrl === undefined ? { kind } : { kind, baseUrl };
}

export function knownChannelKind(id: string): ChannelKind | undefined {
  return CHANNEL_KINDS.find((kind) => kind === id);
}
