import type { ProviderManifest } from "../manifest.ts";

/** The address of Ollama's chat completions, not of its own API (docs/decisions/082-addresses-decide.md). */
const CHAT_COMPLETIONS = /\/v1\/*$/;

/** The makers' own service: its models have the longest context that they can. */
const CLOUD = /^https:\/\/ollama\.com(\/|$)/;

export const ollama = {
  kind: "provider",
  id: "ollama",
  about: "A server of Ollama, by its own API",
  configuration: "providers.<id>",
  kinds: ["ollama"],
  // Its servers hold as much as they are asked for, in the memory of the machine: about what an agent's tools and a conversation need.
  contextWindow: (baseUrl) => (CLOUD.test(baseUrl) ? undefined : 32_768),
  services: [
    { id: "ollama", kind: "ollama", baseUrl: "http://127.0.0.1:11434", local: { name: "Ollama", list: "ollama" } },
  ],
  models: (baseUrl, key) => ({
    url: CHAT_COMPLETIONS.test(baseUrl) ? `${baseUrl}/models` : `${baseUrl}/api/tags`,
    headers: key ? { authorization: `Bearer ${key}` } : {},
  }),
  create: async (needs) =>
    CHAT_COMPLETIONS.test(needs.baseUrl ?? "")
      ? (await import("../openai-compatible/index.ts")).createOpenaiCompatibleProvider(needs)
      : (await import("./index.ts")).createOllamaProvider(needs),
} as const satisfies ProviderManifest;
