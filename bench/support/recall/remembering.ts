import type { EmbeddingService } from "../../../runtime/contracts/embedding.ts";

/** The service, asked once for each text: the same conversations go into several stores, and an encoder takes minutes. */
export function remembering(service: EmbeddingService): EmbeddingService {
  const known = new Map<string, readonly number[]>();
  return {
    model: service.model,
    get dimensions() {
      return service.dimensions;
    },
    async embed(texts, options) {
      const unknown = [...new Set(texts)].filter((text) => !known.has(text));
      const vectors = unknown.length === 0 ? [] : await service.embed(unknown, options);
      for (const [n, text] of unknown.entries()) known.set(text, vectors[n] ?? []);
      return texts.map((text) => known.get(text) ?? []);
    },
    close: () => service.close(),
  };
}
