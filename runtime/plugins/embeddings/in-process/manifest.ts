import type { EmbeddingManifest } from "../manifest.ts";

export const inProcess = {
  kind: "embedding",
  id: "in-process",
  about: "A model in the service's own process",
  configuration: "memory.embedding",
  server: false,
  create: async (needs) => (await import("./index.ts")).createInProcessEmbedding(needs),
} as const satisfies EmbeddingManifest;
