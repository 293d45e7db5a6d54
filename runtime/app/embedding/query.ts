import { type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from "cockatiel";
import type { EmbeddingService } from "../../contracts/embedding.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { Vector } from "../../domain/embedding-vector.ts";
import { createBackground } from "../background.ts";
import type { Embed } from "../recall/vectors.ts";
import { encodeQuery } from "./encode-rows.ts";

/**
 * Vectors of queries. A search and a turn wait for them, so there is a deadline, a small memory of recent ones, and a
 * breaker: while the encoder is unavailable no query waits for it, and the breaker probes it in the background.
 */

export interface QueryEmbeddingDeps {
  readonly service: EmbeddingService;
  /** Takes the service's own secrets out of what the encoder is sent. */
  readonly redact: (text: string) => string;
  readonly logger: Logger;
  /** Longest wait of a query, in milliseconds. Default 1,500. */
  readonly deadlineMs?: number;
  /** How long the encoder is left alone after it has failed, in milliseconds. Default 10,000. */
  readonly halfOpenAfterMs?: number;
}

export interface QueryEmbedding {
  /** Null when the query has no vector by that model now: search goes by text then. */
  readonly embed: Embed;
  /** Resolves once nothing is being tried. */
  idle(): Promise<void>;
}

const DEADLINE_MS = 1_500;
const HALF_OPEN_AFTER_MS = 10_000;
const FAILURES = 2;
/** Vectors of 4,000 numbers take 32 kB each. */
const MAX_CACHED = 256;
const PROBE = "ok";
const PROBE_DEADLINE_MS = 10_000;

interface EncoderState {
  readonly breaker: CircuitBreakerPolicy;
  probing: boolean;
}

/** The caller has gone away, which says nothing about the encoder. */
class CallerGoneError extends Error {}

export function createQueryEmbedding(deps: QueryEmbeddingDeps): QueryEmbedding {
  const { service, redact, logger, deadlineMs = DEADLINE_MS, halfOpenAfterMs = HALF_OPEN_AFTER_MS } = deps;
  const recent = new Recent<Vector>(MAX_CACHED);
  const background = createBackground(logger);
  const states = new Map<string, EncoderState>();

  /** Each model has its own: that the server has forgotten an old one says nothing about the other. */
  function stateOf(model: string): EncoderState {
    const cached = states.get(model);
    if (cached !== undefined) return cached;
    const breaker = circuitBreaker(
      handleWhen((error) => !(error instanceof CallerGoneError)),
      { halfOpenAfter: halfOpenAfterMs, breaker: new ConsecutiveBreaker(FAILURES) },
    );
    breaker.onBreak(() => logger.warn({ model }, "queries go without vectors until the model is back"));
    breaker.onReset(() => logger.info({ model }, "queries have vectors again"));
    const state = { breaker, probing: false };
    states.set(model, state);
    return state;
  }

  function probe(state: EncoderState, model: string): void {
    if (state.probing) return;
    state.probing = true;
    background.run("look for the embedding model", async () => {
      try {
        const signal = AbortSignal.timeout(PROBE_DEADLINE_MS);
        await state.breaker.execute(() => within(signal, service.embed([PROBE], { model, signal })));
      } catch {
        // It is still unavailable, or is still left alone.
      } finally {
        state.probing = false;
      }
    });
  }

  async function ask(text: string, model: string, signal: AbortSignal | undefined): Promise<Vector | null> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const end = signal ? AbortSignal.any([signal, deadline]) : deadline;
    try {
      return await within(end, encodeQuery(service, text, { model, signal: end }));
    } catch (error) {
      if (signal?.aborted) throw new CallerGoneError();
      throw error;
    }
  }

  return {
    async embed(query, signal, model) {
      signal?.throwIfAborted();
      // Before the cache: a vector is kept under the text that it was made of.
      const text = redact(query);
      const name = model?.name ?? service.model;
      const key = `${name}\0${text}`;
      const cached = recent.get(key);
      if (cached !== undefined) return cached;
      const state = stateOf(name);
      if (state.breaker.state !== CircuitState.Closed) {
        probe(state, name);
        return null;
      }
      try {
        const vector = await state.breaker.execute(() => ask(text, name, signal));
        // Of another length than the stored ones: not the model that made them.
        if (vector === null || (model && vector.length !== model.dimensions)) return null;
        recent.set(key, vector);
        return vector;
      } catch (error) {
        signal?.throwIfAborted();
        logger.debug({ err: error, model: name }, "the query has no vector");
        return null;
      }
    },
    idle: () => background.idle(),
  };
}

/** The result, or the signal's reason once it aborts: also of work that does not listen to it. */
async function within<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const over = Promise.withResolvers<never>();
  const stop = () => over.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The most recently used values, by key. */
class Recent<Value> {
  readonly #limit: number;
  readonly #values = new Map<string, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    // The order of a Map is that of insertion: what was used last stands last.
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#limit) return;
      this.#values.delete(oldest);
    }
  }
}
