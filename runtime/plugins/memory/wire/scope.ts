import { AsyncLocalStorage } from "node:async_hooks";
import { MemoryError } from "../../../contracts/errors.ts";

interface Scope {
  open: boolean;
}

/**
 * Knows whether the running code was called from inside a transaction's work. There only the transaction's handle may
 * be used: on one connection anything else would wait for its own caller, and on a pool it would silently stand
 * outside the transaction. A mistake that the two backends would punish differently is an error on both.
 */
export class TransactionScope {
  readonly #storage = new AsyncLocalStorage<Scope>();

  async run<T>(work: () => Promise<T>): Promise<T> {
    const scope: Scope = { open: true };
    try {
      return await this.#storage.run(scope, work);
    } finally {
      // Timers and listeners made by the work outlive it and still carry the scope: from now on it forbids nothing.
      scope.open = false;
    }
  }

  /** Runs work as if it were called from nowhere: what it starts (threads, sockets, timers) belongs to no transaction. */
  outside<T>(work: () => T): T {
    return this.#storage.exit(work);
  }

  assertOutside(what: string): void {
    if (!this.#storage.getStore()?.open) return;
    throw new MemoryError("MEMORY_QUERY_FAILED", `database.${what}() was called inside a transaction.`, {
      hint: "Use the handle that the transaction was given.",
    });
  }
}
