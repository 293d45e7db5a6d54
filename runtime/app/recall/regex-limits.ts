import { MemoryError, RuntimeError } from "../../contracts/errors.ts";
import type { Clock } from "../../contracts/ports.ts";

/**
 * Limits on searches by regular expression: those of one caller run one after the other, and a circuit breaker refuses them
 * for a minute after two timeouts, as each of these costs the embedded store its thread, and others their time.
 */

const TIMEOUTS = 2;
/** Timeouts that lie further back are forgotten. */
const WINDOW_MS = 5 * 60_000;
const REFUSED_MS = 60_000;
/** Callers with a counter; one more evicts the oldest. */
const MOST_CALLERS = 1_000;

interface Caller {
  turn: Promise<unknown>;
  timeouts: number[];
  refusedUntil: number;
}

export class RegexLimits {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #callers = new Map<string, Caller>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** RUNTIME_RATE_LIMITED while the caller is refused. */
  async run<T>(name: string, search: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const caller = this.#callers.get(name) ?? this.#added(name);
    const turn = caller.turn.then(() => this.#search(caller, search, signal));
    caller.turn = turn.catch(() => undefined);
    return turn;
  }

  async #search<T>(caller: Caller, search: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    const remainingMs = caller.refusedUntil - this.#clock.monotonic();
    if (remainingMs > 0) {
      throw new RuntimeError("RUNTIME_RATE_LIMITED", "Two regular expressions of this caller took too long.", {
        retryAfterS: Math.ceil(remainingMs / 1_000),
        hint: "Search by words, or wait a minute.",
      });
    }
    try {
      return await search();
    } catch (error) {
      if (error instanceof MemoryError && error.code === "MEMORY_TIMEOUT") this.#timedOut(caller);
      throw error;
    }
  }

  #timedOut(caller: Caller): void {
    const now = this.#clock.monotonic();
    caller.timeouts = [...caller.timeouts.filter((at) => now - at < WINDOW_MS), now];
    if (caller.timeouts.length < TIMEOUTS) return;
    caller.timeouts = [];
    caller.refusedUntil = now + REFUSED_MS;
  }

  #added(name: string): Caller {
    const [oldest] = this.#callers.keys();
    if (this.#callers.size >= MOST_CALLERS && oldest !== undefined) this.#callers.delete(oldest);
    const caller: Caller = { turn: Promise.resolve(), timeouts: [], refusedUntil: Number.NEGATIVE_INFINITY };
    this.#callers.set(name, caller);
    return caller;
  }
}
