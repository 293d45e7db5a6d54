import type { EmbeddingService, EmbedOptions } from "../../../contracts/embedding.ts";
import { checkedVectors } from "../shared/answer.ts";
import { DimensionsCache } from "../shared/dimensions.ts";
import { AnswerError, request, serverParty, unusable } from "../shared/request.ts";
import { DEFAULT_TIMEOUT_MS, type EmbeddingSettings } from "../shared/settings.ts";
import { readError } from "./errors.ts";

/** Embeddings by Ollama's `/api/embed`, which loads the model where it is not loaded yet. */
export class OllamaEmbedding implements EmbeddingService {
  readonly model: string;
  readonly #settings: EmbeddingSettings;
  readonly #dimensions: DimensionsCache;
  readonly #baseUrl: string;

  constructor(settings: EmbeddingSettings) {
    this.#settings = { ...settings, apiKey: settings.apiKey?.trim() };
    this.model = settings.model;
    this.#dimensions = new DimensionsCache(settings.model, settings.dimensions);
    // The address of the server, or of one of its two interfaces.
    this.#baseUrl = settings.baseUrl.replace(/\/+$/, "").replace(/\/(v1|api)$/, "");
  }

  get dimensions(): number | null {
    return this.#dimensions.of(this.model);
  }

  async embed(texts: readonly string[], { signal, model = this.model }: EmbedOptions = {}) {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const { apiKey, dimensions, timeoutMs = DEFAULT_TIMEOUT_MS, fetch = globalThis.fetch } = this.#settings;
    const vectors = await request({
      party: serverParty(model, this.#baseUrl, apiKey),
      timeoutMs,
      signal,
      send: async (signal) => {
        const response = await fetch(`${this.#baseUrl}/api/embed`, {
          method: "POST",
          headers: { "content-type": "application/json", ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) },
          body: JSON.stringify({
            model,
            input: texts,
            // A chunk that is longer than the model's window is read as far as it goes.
            truncate: true,
            ...(dimensions === undefined || model !== this.model ? {} : { dimensions }),
          }),
          signal,
        });
        if (!response.ok) throw new AnswerError(await readError(response));
        const answer = parsed(await response.text());
        const found: unknown = Reflect.get(Object(answer), "embeddings");
        return checkedVectors(found, { count: texts.length, dimensions: this.#dimensions.of(model) });
      },
    });
    this.#dimensions.learn(model, vectors);
    return vectors;
  }

  async close(): Promise<void> {
    // Connections are the platform's, and keep no process alive.
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw unusable("something that is no JSON");
  }
}
