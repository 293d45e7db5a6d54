import type { ProviderManifest } from "../manifest.ts";

const KIND = "openai-compatible";

export const openaiCompatible = {
  kind: "provider",
  id: KIND,
  about: "Every chat-completions-compatible API",
  configuration: "providers.<id>",
  kinds: [KIND],
  services: [
    // Without an address the SDK calls OpenAI; the configuration requires one.
    { id: KIND, kind: KIND, baseUrl: "https://api.openai.com/v1" },
    {
      id: "openai",
      kind: KIND,
      baseUrl: "https://api.openai.com/v1",
      keyVariables: ["OPENAI_API_KEY"],
      model: "gpt-5.5",
    },
    {
      id: "openrouter",
      kind: KIND,
      baseUrl: "https://openrouter.ai/api/v1",
      keyVariables: ["OPENROUTER_API_KEY"],
      model: "openrouter/auto",
    },
    {
      id: "mistral",
      kind: KIND,
      baseUrl: "https://api.mistral.ai/v1",
      keyVariables: ["MISTRAL_API_KEY"],
      model: "mistral-large-latest",
    },
    {
      id: "deepseek",
      kind: KIND,
      baseUrl: "https://api.deepseek.com/v1",
      keyVariables: ["DEEPSEEK_API_KEY"],
      model: "deepseek-chat",
    },
    {
      id: "groq",
      kind: KIND,
      baseUrl: "https://api.groq.com/openai/v1",
      keyVariables: ["GROQ_API_KEY"],
      model: "llama-3.3-70b-versatile",
    },
    { id: "lmstudio", kind: KIND, baseUrl: "http://127.0.0.1:1234/v1", local: { name: "LM Studio", list: "openai" } },
    { id: "llamacpp", kind: KIND, baseUrl: "http://127.0.0.1:8080/v1", local: { name: "llama.cpp", list: "openai" } },
    { id: "vllm", kind: KIND, baseUrl: "http://127.0.0.1:8000/v1", local: { name: "vLLM", list: "openai" } },
  ],
  models: (baseUrl, key) => ({ url: `${baseUrl}/models`, headers: key ? { authorization: `Bearer ${key}` } : {} }),
  create: async (needs) => (await import("./index.ts")).createOpenaiCompatibleProvider(needs),
} as const satisfies ProviderManifest;
