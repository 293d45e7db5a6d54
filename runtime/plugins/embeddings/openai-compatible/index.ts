import type { EmbeddingService } from "../../../contracts/embedding.ts";
import type { EmbeddingSettings } from "../shared/settings.ts";
import { OpenaiCompatibleEmbedding } from "./service.ts";

export type { EmbeddingSettings } from "../shared/settings.ts";

/** Embeddings of any server with OpenAI's `/embeddings`. Makes no connection and loads no SDK until it is called. */
export function createOpenaiCompatibleEmbedding(settings: EmbeddingSettings): EmbeddingService {
  return new OpenaiCompatibleEmbedding(settings);
}
