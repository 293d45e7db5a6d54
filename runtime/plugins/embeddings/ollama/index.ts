import type { EmbeddingService } from "../../../contracts/embedding.ts";
import type { EmbeddingSettings } from "../shared/settings.ts";
import { OllamaEmbedding } from "./service.ts";

export type { EmbeddingSettings } from "../shared/settings.ts";

/** Embeddings of an Ollama server, by its own interface. Makes no connection until it is called. */
export function createOllamaEmbedding(settings: EmbeddingSettings): EmbeddingService {
  return new OllamaEmbedding(settings);
}
