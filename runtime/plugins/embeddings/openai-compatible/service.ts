import type OpenAI from "openai";
import type { EmbeddingService, EmbedOptions } from "../../../contracts/embedding.ts";
import { checkedVectors } from "../shared/answer.ts";
import { DimensionsCache } from "../shared/dimensions.ts";
import { request, serverParty, unusable } from "../shared/request.ts";
import { DEFAULT_TIMEOUT_MS, type EmbeddingSettings } from "../shared/settings.ts";
import { readError } from "./errors.ts";

/** What servers without keys get: the SDK insists on one. */
const NO_KEY = "none";
/** The SDK's own timer, set where it never runs out: each request has a deadline here. */
const NO_SDK_TIMEOUT_MS = 2_147_483_647;

/** Embeddings by OpenAI's interface, which most servers implement. */
export class OpenaiCompatibleEmbedding implements EmbeddingService {
  readonly model: string;
  readonly #settings: EmbeddingSettings;
  readonly #dimensions: DimensionsCache;
  readonly #baseUrl: string;

  constructor(settings: EmbeddingSettings) {
    // Keys come out of files with line ends.
    this.#settings = { ...settings, apiKey: settings.apiKey?.trim() };
    this.model = settings.model;
    this.#dimensions = new DimensionsCache(settings.model, settings.dimensions);
    this.#baseUrl = settings.baseUrl.replace(/\/+$/, "");
  }

  get dimensions(): number | null {
    return this.#dimensions.of(this.model);
  }

  async embed(texts: readonly string[], { signal, model = this.model }: EmbedOptions = {}) {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const { apiKey, dimensions, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#settings;
    // Loaded at the first call: a process that never makes one does not carry the SDK.
    const { default: sdk } = await import("openai");
    const vectors = await request({
      party: serverParty(model, this.#baseUrl, apiKey),
      timeoutMs,
      signal,
      explain: (error) => readError(error, sdk),
      send: async (signal) => {
        const answer = await this.#client(sdk).embeddings.create(
          {
            model,
            input: [...texts],
            encoding_format: "float",
            ...(dimensions === undefined || model !== this.model ? {} : { dimensions }),
          },
          { signal },
        );
        return checkedVectors(inOrder(answer), { count: texts.length, dimensions: this.#dimensions.of(model) });
      },
    });
    this.#dimensions.learn(model, vectors);
    return vectors;
  }

  async close(): Promise<void> {
    // Connections are the platform's, and keep no process alive.
  }

  #client(sdk: typeof OpenAI): OpenAI {
    // Everything that the SDK would take from the environment is passed explicitly: only the configuration counts.
    return new sdk({
      apiKey: this.#settings.apiKey || NO_KEY,
      baseURL: this.#baseUrl,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      maxRetries: 0,
      timeout: NO_SDK_TIMEOUT_MS,
      logLevel: "off",
      ...(this.#settings.fetch ? { fetch: this.#settings.fetch } : {}),
    });
  }
}

/** The vectors by their indexes, which need not be in order. */
function inOrder(answer: unknown): unknown[] {
  const data: unknown = Reflect.get(Object(answer), "data");
  if (!Array.isArray(data)) throw unusable("no list of vectors");
  const vectors: unknown[] = [];
  for (const [position, item] of data.entries()) {
    const index: unknown = Reflect.get(Object(item), "index") ?? position;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= data.length) {
      throw unusable("a vector for no text");
    }
    if (index in vectors) throw unusable("two vectors for one text");
    vectors[index] = Reflect.get(Object(item), "embedding");
  }
  return vectors;
}
