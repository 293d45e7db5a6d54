import type { ProviderManifest } from "../manifest.ts";

/** An address with the version of Gemini's own API; any other is one of chat completions (docs/decisions/082-addresses-decide.md). */
const OWN_API = /\/v\d+(?:alpha|beta)\d*\/*$/;

export const gemini = {
  kind: "provider",
  id: "gemini",
  about: "Google's Gemini API",
  configuration: "providers.<id>",
  kinds: ["gemini"],
  services: [
    {
      id: "gemini",
      kind: "gemini",
      baseUrl: "https://generativelanguage.googleapis.com/v1beta",
      keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      model: "gemini-flash-latest",
    },
  ],
  models: (baseUrl, key) =>
    OWN_API.test(baseUrl)
      ? { url: `${baseUrl}/models?pageSize=1000`, headers: key ? { "x-goog-api-key": key } : {} }
      : { url: `${baseUrl}/models`, headers: key ? { authorization: `Bearer ${key}` } : {} },
  create: async (needs) =>
    needs.baseUrl === undefined || OWN_API.test(needs.baseUrl)
      ? (await import("./index.ts")).createGeminiProvider(needs)
      : (await import("../openai-compatible/index.ts")).createOpenaiCompatibleProvider(needs),
} as const satisfies ProviderManifest;
