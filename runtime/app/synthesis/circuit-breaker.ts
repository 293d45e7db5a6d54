import { CairnError, type ErrorCode } from "../../contracts/errors.ts";
import type { Clock } from "../../contracts/ports.ts";

/**
 * A circuit breaker of one endpoint. While it is open, the jobs that have failed already probe by their own retries, and the
 * others wait: a model that is unavailable for a night must not use up the attempts of every job.
 */

export interface CircuitBreakerDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 900_000;
/** How long a wait may not notice that the breaker has closed. */
const POLL_MS = 1_000;
/** Errors of one request, not of the endpoint. */
const OWN_FAILURES: ReadonlySet<ErrorCode> = new Set(["PROVIDER_BAD_RESPONSE", "PROVIDER_CONTEXT_TOO_LONG"]);

export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps;
  readonly #probing = new Set<string>();
  #failures = 0;
  #until = 0;
  #error: string | null = null;

  constructor(deps: CircuitBreakerDeps) {
    this.#deps = deps;
  }

  /** Why the breaker is open; null while it is closed. */
  get error(): string | null {
    return this.#error;
  }

  /** Does the work once it is this key's time. Its error decides whether the breaker opens. */
  async attempt<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { clock, sleep } = this.#deps;
    for (;;) {
      signal.throwIfAborted();
      const remainingMs = this.#until - clock.monotonic();
      if (remainingMs <= 0 || this.#probing.has(key)) break;
      await sleep(Math.min(remainingMs, POLL_MS), signal);
    }
    // The next one waits for the result of this probe.
    if (this.#failures > 0 && !this.#probing.has(key)) this.#until = clock.monotonic() + this.#pause();
    try {
      const result = await work();
      this.#close();
      return result;
    } catch (error) {
      if (!signal.aborted && error instanceof CairnError && error.code.startsWith("PROVIDER_")) {
        if (OWN_FAILURES.has(error.code)) this.#close();
        else this.#trip(key, error);
      }
      throw error;
    }
  }

  #trip(key: string, error: CairnError): void {
    this.#probing.add(key);
    this.#failures += 1;
    this.#error = error.message;
    this.#until = this.#deps.clock.monotonic() + this.#pause();
  }

  #close(): void {
    this.#probing.clear();
    this.#failures = 0;
    this.#until = 0;
    this.#error = null;
  }

  #pause(): number {
    return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 10));
  }
}
