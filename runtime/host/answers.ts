/** From `memory.summarizer` in the configuration to the answers of searches. */

import { type AnswerSearch, createAnswers } from "../app/recall/answer.ts";
import type { Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import type { CountTokens } from "../domain/tokens.ts";
import { createTextModel } from "./text-models.ts";

export interface AnswerHostDeps {
  readonly database: Database;
  readonly countTokens: CountTokens;
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly logger: Logger;
}

export interface AnswerParts {
  readonly answer: AnswerSearch;
  /** Aborts running requests: a stalled model must not delay a stop. */
  stop(): void;
}

/** Null where no model is configured. */
export function createAnswerParts(config: Config, deps: AnswerHostDeps): AnswerParts | null {
  const { base_url: baseUrl, model: name, api_key: apiKey } = config.memory.summarizer;
  if (baseUrl === undefined || name === undefined) return null;
  const { database, countTokens: count, clock, redact } = deps;
  const logger = deps.logger.child({ part: "answers" });
  const stopping = new AbortController();
  const model = createTextModel({ path: "memory.summarizer", baseUrl, model: name, apiKey }, logger);
  return {
    answer: createAnswers({ database, model, redact, count, clock, logger, stopping: stopping.signal }),
    stop: () => stopping.abort(),
  };
}
