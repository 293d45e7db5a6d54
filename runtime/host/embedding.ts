/** From `memory.embedding` in the configuration to what embeds records and queries; nothing where it is off. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createEmbedding } from "../app/embedding/embedding.ts";
import { createQueryEmbedding, type QueryEmbedding } from "../app/embedding/query.ts";
import type { Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { EmbeddingService } from "../contracts/embedding.ts";
import { ConfigError } from "../contracts/errors.ts";
import { TICKERS } from "../contracts/jobs.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import { EMBEDDINGS } from "../plugins/embeddings/manifests.ts";
import type { Ticker, Tickers } from "../workers/ticker.ts";

export interface EmbeddingParts {
  readonly service: EmbeddingService;
  readonly queries: QueryEmbedding;
  readonly embedder: Ticker;
  /** Ends what queries started and frees the model; the embedder has ended by then. */
  close(): Promise<void>;
}

export interface EmbeddingHostDeps {
  readonly database: Database;
  readonly tickers: Tickers;
  readonly home: string;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Takes the service's own secrets out of what the encoder is sent. */
  readonly redactValues: (text: string) => string;
  readonly logger: Logger;
}

/** Rows that are written in quick succession are embedded together. */
const EMBED_GATHER_MS = 100;

export async function createEmbeddingParts(config: Config, deps: EmbeddingHostDeps): Promise<EmbeddingParts | null> {
  const service = await createService(config.memory.embedding, deps.home);
  if (service === null) return null;
  const { batch, interval } = config.memory.embedding;
  const { database, tickers, clock, newId, redactValues: redact } = deps;
  const logger = deps.logger.child({ part: "embedder" });
  const queries = createQueryEmbedding({ service, redact, logger });
  const embedding = createEmbedding({
    database,
    service,
    redact,
    batch,
    clock,
    newId,
    logger,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  });
  return {
    service,
    queries,
    embedder: tickers.add({
      name: TICKERS.embed,
      run: (signal) => embedding.run(signal),
      intervalMs: interval,
      gatherMs: EMBED_GATHER_MS,
      logger,
    }),
    async close() {
      await queries.idle();
      await service.close();
    },
  };
}

async function createService(settings: Config["memory"]["embedding"], home: string): Promise<EmbeddingService | null> {
  const { provider, model, base_url: baseUrl, api_key: apiKey, dimensions } = settings;
  const manifest = EMBEDDINGS.find(({ id }) => id === provider);
  if (!manifest) return null;
  // Both were checked when the configuration was read.
  if (model === undefined) throw new ConfigError("CONFIG_INVALID", "memory.embedding.model is missing.");
  if (manifest.server && baseUrl === undefined) {
    throw new ConfigError("CONFIG_INVALID", "memory.embedding.base_url is missing.");
  }
  return manifest.create({ model, baseUrl: baseUrl ?? "", apiKey, dimensions, cacheDirectory: join(home, "models") });
}
