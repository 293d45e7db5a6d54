/** From `memory.summarizer` in the configuration to what summarizes conversations; nothing works where it is off. */

import { setTimeout as sleep } from "node:timers/promises";
import { createCompaction } from "../app/compaction/compaction.ts";
import { markConversation } from "../app/compaction/work.ts";
import type { WorkerState } from "../app/worker-state.ts";
import type { Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import { ConfigError } from "../contracts/errors.ts";
import { TICKERS } from "../contracts/jobs.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import type { TextModel } from "../contracts/text-model.ts";
import type { CountTokens } from "../domain/tokens.ts";
import type { Tickers } from "../workers/ticker.ts";
import { createTextModel } from "./text-models.ts";

export interface CompactionHostDeps {
  readonly database: Database;
  readonly tickers: Tickers;
  readonly countTokens: CountTokens;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly redact: (text: string) => string;
  /** A summary was stored and can be embedded. */
  readonly onStored: () => void;
}

export interface CompactionParts {
  start(): void;
  /** Conversations that had failed for good are due again. */
  notify(): void;
  /** Messages of this one are about to leave a prompt: it is summarized now, not at the next interval. */
  flush(conversationId: string): Promise<void>;
  /** The model, for summaries of the prompts' own; null where there is none. */
  readonly summarizer: { readonly model: TextModel; readonly window: number } | null;
  stop(): Promise<void>;
  state(): WorkerState;
}

export function createCompactionParts(config: Config, deps: CompactionHostDeps): CompactionParts {
  const {
    base_url: baseUrl,
    model: name,
    api_key: apiKey,
    interval,
    context_window: window,
  } = config.memory.summarizer;
  if (baseUrl === undefined) {
    const reason = "memory.summarizer.base_url is not set.";
    return {
      start: () => undefined,
      notify: () => undefined,
      flush: async () => undefined,
      summarizer: null,
      stop: async () => undefined,
      state: () => ({ state: "off", model: null, reason }),
    };
  }
  // Was checked when the configuration was read.
  if (name === undefined) throw new ConfigError("CONFIG_INVALID", "memory.summarizer.model is missing.");
  const logger = deps.logger.child({ part: "compactor" });
  const { database, tickers, countTokens, clock, newId, redact, onStored } = deps;
  const model = createTextModel({ path: "memory.summarizer", baseUrl, model: name, apiKey }, logger);
  const compaction = createCompaction({
    database,
    model,
    window,
    countTokens,
    newId,
    clock,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    logger,
    redact,
    onStored,
  });
  const ticker = tickers.add({
    name: TICKERS.compact,
    run: (signal) => compaction.run(signal),
    intervalMs: interval,
    logger,
  });
  return {
    start: ticker.start,
    notify: ticker.notify,
    async flush(conversationId) {
      await markConversation(database, conversationId);
      ticker.notify();
    },
    summarizer: { model, window },
    stop: ticker.stop,
    state: () => compaction.state(),
  };
}
