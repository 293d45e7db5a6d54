/** Provider and channel ids whose kind (and address, and key variable) need not be written down. */

export const PROVIDER_KINDS = ["anthropic", "gemini", "xai", "ollama", "openai-compatible", "offline"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export const CHANNEL_KINDS = ["agent", "telegram", "discord", "voice", "console"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export interface KnownProvider {
  readonly kind: ProviderKind;
  /** Absent: the SDK's own address. */
  readonly baseUrl?: string;
}

export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  anthropic: { kind: "anthropic" },
  gemini: { kind: "gemini" },
  xai: { kind: "xai" },
  ollama: { kind: "ollama" },
  openai: { kind: "openai-compatible", baseUrl: "https://api.openai.com/v1" },
  openrouter: { kind: "openai-compatible", baseUrl: "https://openrouter.ai/api/v1" },
  groq: { kind: "openai-compatible", baseUrl: "https://api.groq.com/openai/v1" },
  deepseek: { kind: "openai-compatible", baseUrl: "https://api.deepseek.com/v1" },
  mistral: { kind: "openai-compatible", baseUrl: "https://api.mistral.ai/v1" },
  lmstudio: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1234/v1" },
  "openai-compatible": { kind: "openai-compatible" },
  offline: { kind: "offline" },
};

/** Variables that hold the key of a public service, by the address that the key belongs to. */
const KEY_VARIABLES: Readonly<Record<string, string>> = {
  "https://api.openai.com/v1": "OPENAI_API_KEY",
  "https://openrouter.ai/api/v1": "OPENROUTER_API_KEY",
  "https://api.groq.com/openai/v1": "GROQ_API_KEY",
  "https://api.deepseek.com/v1": "DEEPSEEK_API_KEY",
  "https://api.mistral.ai/v1": "MISTRAL_API_KEY",
};

const KIND_KEY_VARIABLES: Readonly<Partial<Record<ProviderKind, string>>> = {
  anthropic: "ANTHROPIC_API_KEY",
  gemini: "GEMINI_API_KEY",
  xai: "XAI_API_KEY",
};

/**
 * The variable that usually holds a provider's key, or null where none is expected. A provider with an address of its
 * own gets none: the key of the public service is never sent somewhere else without being asked for.
 */
export function keyVariable(kind: string, baseUrl: string | undefined): string | null {
  if (baseUrl !== undefined) return Object.hasOwn(KEY_VARIABLES, baseUrl) ? (KEY_VARIABLES[baseUrl] ?? null) : null;
  return KIND_KEY_VARIABLES[PROVIDER_KINDS.find((known) => known === kind) ?? "offline"] ?? null;
}

export function knownProvider(id: string): KnownProvider | undefined {
  return Object.hasOwn(KNOWN_PROVIDERS, id) ? KNOWN_PROVIDERS[id] : undefined;
}

export function knownChannelKind(id: string): ChannelKind | undefined {
  return CHANNEL_KINDS.find((kind) => kind === id);
}
