import type { ProviderManifest } from "../manifest.ts";

export const anthropic = {
  kind: "provider",
  id: "anthropic",
  about: "Anthropic's Messages API",
  configuration: "providers.<id>",
  kinds: ["anthropic"],
  services: [
    {
      id: "anthropic",
      kind: "anthropic",
      baseUrl: "https://api.anthropic.com",
      keyVariables: ["ANTHROPIC_API_KEY"],
      model: "claude-sonnet-5-5",
    },
  ],
  logins: {
    anthropic: {
      authorizeUrl: "https://claude.ai/oauth/authorize",
      tokenUrl: "https://console.anthropic.com/v1/oauth/token",
      scopes: ["user:profile", "user:inference"],
    },
  },
  models: (baseUrl, key) => ({
    url: `${baseUrl}/v1/models?limit=1`,
    headers: { "anthropic-version": "2023-06-01", ...(key ? { "x-api-key": key } : {}) },
  }),
  create: async (needs) => (await import("./index.ts")).createAnthropicProvider(needs),
} as const satisfies ProviderManifest;
