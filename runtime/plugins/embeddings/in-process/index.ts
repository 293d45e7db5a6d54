import type { EmbeddingService } from "../../../contracts/embedding.ts";
import { InProcessEmbedding } from "./service.ts";
import type { InProcessSettings } from "./settings.ts";

export type { InProcessSettings } from "./settings.ts";

/** Embeddings by a model in this process. Loads neither library nor model until it is called. */
export function createInProcessEmbedding(settings: InProcessSettings): EmbeddingService {
  return new InProcessEmbedding(settings);
}
