import { CairnError, ProviderError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import type { Provider } from "../../../contracts/provider.ts";
import type { TextAnswer, TextModel, TextRequest } from "../../../contracts/text-model.ts";
import { sanitize } from "../../../domain/cap.ts";
import { withoutReasoning } from "./reasoning.ts";

export interface TextModelDeps {
  /** Makes one request a call: without retries and without a deadline of its own. */
  readonly provider: Provider;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly logger: Pick<Logger, "warn">;
}

/** Milliseconds before the second, third and fourth request (specification, "Memory-quality pipeline"). */
export const RETRY_PAUSES_MS = [5_000, 10_000, 15_000] as const;
/** A longer `Retry-After` than this is left to the caller's own retry. */
const LONGEST_PAUSE_MS = 120_000;

/** A chat model as a writer of short texts: one question, one answer, its reasoning dropped. */
export class ChatCompletionsTextModel implements TextModel {
  readonly #deps: TextModelDeps;

  constructor(deps: TextModelDeps) {
    this.#deps = deps;
  }

  get model(): string {
    return this.#deps.provider.getModel();
  }

  async complete(request: TextRequest): Promise<TextAnswer> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#ask(request);
      } catch (error) {
        await this.#pauseAfter(error, failures, request.signal);
      }
    }
  }

  async #ask({ system, user, maxTokens, thinking, signal }: TextRequest): Promise<TextAnswer> {
    signal.throwIfAborted();
    let answer = "";
    const options = { system, maxTokens, thinking: thinking ? ("medium" as const) : ("off" as const), signal };
    for await (const chunk of this.#deps.provider.chatStream([{ role: "user", content: user }], options)) {
      if (chunk.type === "text") answer += chunk.text;
      if (chunk.type !== "end") continue;
      if (chunk.stopReason === "refusal") throw this.#refused();
      // It will be stored, and the store refuses some characters.
      const text = sanitize(withoutReasoning(answer));
      const truncated = chunk.stopReason === "length";
      if (text === "") throw this.#empty(truncated);
      const { inputTokens, outputTokens } = chunk.usage;
      return {
        text,
        truncated,
        ...(inputTokens > 0 ? { inputTokens } : {}),
        ...(outputTokens > 0 ? { outputTokens } : {}),
      };
    }
    throw new ProviderError("PROVIDER_STREAM_TRUNCATED", `The answer of "${this.model}" broke off before its end.`);
  }

  /** Waits for the next attempt, or throws: after the last one, and what another attempt cannot change. */
  async #pauseAfter(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const planned = RETRY_PAUSES_MS[failures];
    if (!(error instanceof CairnError) || !error.retryable || planned === undefined) throw error;
    const asked = (error.details.retryAfterS ?? 0) * 1_000;
    if (asked > LONGEST_PAUSE_MS) throw error;
    const pauseMs = Math.max(planned, asked);
    const { logger, sleep } = this.#deps;
    logger.warn({ err: error, model: this.model, again_in_ms: pauseMs }, "the text model failed; retrying");
    await sleep(pauseMs, signal);
  }

  #empty(truncated: boolean): ProviderError {
    return new ProviderError(
      "PROVIDER_EMPTY_ANSWER",
      `The model "${this.model}" answered with nothing${truncated ? " but reasoning, up to the limit of its answer" : ""}.`,
      truncated ? { hint: "Take a model that reasons less, or switch its reasoning off at the server." } : {},
    );
  }

  #refused(): ProviderError {
    return new ProviderError("PROVIDER_REJECTED_REQUEST", `The model "${this.model}" refused to answer.`, {
      hint: "The server filters contents; take a model or a server that does not.",
    });
  }
}
