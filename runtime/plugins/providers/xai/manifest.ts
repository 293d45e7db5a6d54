import type { ProviderManifest } from "../manifest.ts";

export const xai = {
  kind: "provider",
  id: "xai",
  about: "xAI's chat completions, for Grok",
  configuration: "providers.<id>",
  kinds: ["xai"],
  services: [
    { id: "xai", kind: "xai", baseUrl: "https://api.x.ai/v1", keyVariables: ["XAI_API_KEY"], model: "grok-4" },
  ],
  models: (baseUrl, key) => ({ url: `${baseUrl}/models`, headers: key ? { authorization: `Bearer ${key}` } : {} }),
  create: async (needs) => (await import("./index.ts")).createXaiProvider(needs),
} as const satisfies ProviderManifest;
