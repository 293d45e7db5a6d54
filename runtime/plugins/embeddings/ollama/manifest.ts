import type { EmbeddingManifest } from "../manifest.ts";

export const ollama = {
  kind: "embedding",
  id: "ollama",
  about: "An Ollama server, by its own interface",
  configuration: "memory.embedding",
  server: true,
  create: async (needs) => (await import("./index.ts")).createOllamaEmbedding(needs),
} as const satisfies EmbeddingManifest;
