/** The conversations that are asked about, and the encoder: both come from outside, by `--locomo FILE --encoder URL`. */

import type { EmbeddingService } from "../../../runtime/contracts/embedding.ts";
import { createOpenaiCompatibleEmbedding } from "../../../runtime/plugins/embeddings/openai-compatible/index.ts";
import type { BenchContext } from "../bench.ts";
import { withCachedEmbeddings } from "./cached-embeddings.ts";
import { type Conversation, readLocomo } from "./locomo.ts";

export const MODEL = "all-minilm-l6-v2";

export interface Source {
  readonly conversations: readonly Conversation[];
  /** Asks the encoder once for each text. With `--vectors FILE`, which it adds to, once for all runs. */
  readonly service: EmbeddingService;
}

/** Null, and said so, where an option is missing. The service is closed at the end of the bench. */
export async function openSource(context: BenchContext): Promise<Source | null> {
  const file = context.option("locomo");
  const encoder = context.option("encoder");
  if (file === undefined || encoder === undefined) {
    process.stderr.write("  left out: needs --locomo FILE and --encoder URL\n");
    return null;
  }
  const inner = createOpenaiCompatibleEmbedding({ model: MODEL, baseUrl: encoder });
  const service = await withCachedEmbeddings(inner, context.option("vectors"));
  context.defer(() => service.close());
  return { conversations: await readLocomo(file), service };
}
