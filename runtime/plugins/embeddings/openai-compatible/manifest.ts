import type { EmbeddingManifest } from "../manifest.ts";

export const openaiCompatible = {
  kind: "embedding",
  id: "openai-compatible",
  about: "Any server with OpenAI's /embeddings",
  configuration: "memory.embedding",
  server: true,
  create: async (needs) => (await import("./index.ts")).createOpenaiCompatibleEmbedding(needs),
} as const satisfies EmbeddingManifest;
