import { basename, dirname, isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddingService, EmbedOptions } from "../../../contracts/embedding.ts";
import { CairnError } from "../../../contracts/errors.ts";
import { networkReason } from "../../../contracts/system-errors.ts";
import { checkedVectors } from "../shared/answer.ts";
import { DimensionsCache } from "../shared/dimensions.ts";
import { request } from "../shared/request.ts";
import { loadError } from "./errors.ts";
import { type Extractor, loadLibrary } from "./library.ts";
import type { InProcessSettings } from "./settings.ts";

const DEFAULT_TIMEOUT_MS = 300_000;
const CLOSE_MS = 2_000;

/** A model in this process: semantic search on a machine without any model server. */
export class InProcessEmbedding implements EmbeddingService {
  readonly model: string;
  readonly #settings: InProcessSettings;
  readonly #dimensions: DimensionsCache;
  readonly #extractors = new Map<string, Promise<Extractor>>();
  /** Requests run one after the other: each takes all the cores there are. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(settings: InProcessSettings) {
    this.#settings = settings;
    this.model = settings.model;
    this.#dimensions = new DimensionsCache(settings.model, settings.dimensions);
  }

  get dimensions(): number | null {
    return this.#dimensions.of(this.model);
  }

  async embed(texts: readonly string[], { signal, model = this.model }: EmbedOptions = {}) {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const expected = { count: texts.length, dimensions: this.#dimensions.of(model) };
    const vectors = await request({
      party: { subject: `The embedding model "${model}" (in this process)`, host: "this process" },
      timeoutMs: this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      signal,
      explain: (error) => ({ kind: "garbage", found: `an error: ${networkReason(error)}` }),
      send: (signal) =>
        until(
          signal,
          this.#inTurn(signal, async () => this.#run(texts, model, expected)),
        ),
    });
    if (vectors instanceof CairnError) throw vectors;
    this.#dimensions.learn(model, vectors);
    return vectors;
  }

  /** What is still being loaded or worked out is waited for a moment only: the process ends it. */
  async close(): Promise<void> {
    const extractors = [...this.#extractors.values()];
    this.#extractors.clear();
    const freed = this.#turn.then(() =>
      Promise.allSettled(extractors.map(async (extractor) => (await extractor).dispose())),
    );
    await Promise.race([freed, sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  /** A model that cannot be loaded is an answer here: its words are better than what could be read from a failure. */
  async #run(texts: readonly string[], model: string, expected: Parameters<typeof checkedVectors>[1]) {
    let extractor: Extractor;
    try {
      extractor = await this.#extractorOf(model);
    } catch (error) {
      return loadError(model, error);
    }
    const tensor = await extractor(texts, { pooling: "mean", normalize: true });
    return checkedVectors(tensor.tolist(), expected);
  }

  #inTurn<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(() => {
      signal.throwIfAborted();
      return work();
    });
    this.#turn = result.catch(() => undefined);
    return result;
  }

  #extractorOf(model: string): Promise<Extractor> {
    const cached = this.#extractors.get(model);
    if (cached !== undefined) return cached;
    const { load = loadLibrary, cacheDirectory } = this.#settings;
    const loading = load().then((library) => {
      library.env.cacheDir = cacheDirectory;
      const options = { local_files_only: isAbsolute(model), dtype: "fp32" } as const;
      if (!isAbsolute(model)) return library.pipeline("feature-extraction", model, options);
      // The library looks up names in a directory of models.
      library.env.localModelPath = dirname(model);
      return library.pipeline("feature-extraction", basename(model), options);
    });
    this.#extractors.set(model, loading);
    // What failed is tried again at the next request.
    loading.catch(() => this.#extractors.delete(model));
    return loading;
  }
}

/** A model at work cannot be interrupted: its result is no longer waited for. */
function until<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
