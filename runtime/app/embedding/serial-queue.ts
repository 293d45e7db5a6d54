/** One failure of an encoder is handled at a time, whatever else waits for it. */

import type { CairnError } from "../../contracts/errors.ts";

/** The encoder cannot be used now, whatever the text. */
export class EncoderUnavailableError extends Error {
  override readonly cause: CairnError;

  constructor(cause: CairnError) {
    super(cause.message);
    this.name = "EncoderUnavailableError";
    this.cause = cause;
  }
}

/**
 * Requests run in parallel while none fails. A failure is handled exclusively: the other requests wait, so that a failing encoder gets one
 * request at a time, and its pauses are made once.
 */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve();
  #handling = 0;
  #unavailable: EncoderUnavailableError | null = null;

  /** Resolves once no failure is being handled. */
  async clear(): Promise<void> {
    while (this.#handling > 0) await this.#last;
    if (this.#unavailable !== null) throw this.#unavailable;
  }

  /** Runs the work when the failures before it are handled; `waited`: whether there were any. */
  async *runExclusive<T>(work: (waited: boolean) => AsyncGenerator<T>): AsyncGenerator<T> {
    const waited = this.#handling > 0;
    const before = this.#last;
    const own = Promise.withResolvers<void>();
    this.#last = own.promise;
    this.#handling += 1;
    try {
      await before;
      if (this.#unavailable !== null) throw this.#unavailable;
      yield* work(waited);
    } catch (error) {
      if (error instanceof EncoderUnavailableError) this.#unavailable = error;
      throw error;
    } finally {
      this.#handling -= 1;
      own.resolve();
    }
  }
}
