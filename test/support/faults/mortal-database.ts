/** A store as a worker sees it that dies at a marked statement: nothing of it comes through afterwards, not even a farewell. */

import type { Database, Queryable, Transaction } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";

export interface DeathPoint {
  /** What stands in the statement: its comment `compaction:claim`, or a piece of it. */
  readonly mark: string;
  /**
   * Before the statement; after it, before its transaction commits; or once its transaction has committed and before
   * anybody hears of it. A statement outside a transaction commits at once.
   */
  readonly when: "before" | "after" | "committed";
}

export interface Mortal {
  readonly database: Database;
  readonly dead: () => boolean;
  /** Ends it at once. */
  die(): void;
}

export function mortal(database: Database, point?: DeathPoint): Mortal {
  let dead = false;
  const gone = (): MemoryError => new MemoryError("MEMORY_UNAVAILABLE", "The worker is dead.");
  const check = (): void => {
    if (dead) throw gone();
  };
  const die = (): never => {
    dead = true;
    throw gone();
  };
  const isPoint = (text: string): boolean => point !== undefined && text.includes(point.mark);

  function guarded<Q extends Queryable>(handle: Q, struck: () => void): Q["query"] {
    return async (text, values, ...rest: []) => {
      check();
      if (isPoint(text) && point?.when === "before") die();
      const result = await handle.query(text, values, ...rest);
      check();
      if (isPoint(text)) {
        if (point?.when === "after") die();
        struck();
      }
      // The rows have the type that the caller asked for.
      return result as never;
    };
  }

  const wrapped: Database = {
    backend: database.backend,
    query: async (text, values, options) => {
      let committed = false;
      const handle: Queryable = { query: (sql, bound) => database.query(sql, bound, options) };
      const result = await guarded(handle, () => {
        committed = true;
      })(text, values);
      if (committed && point?.when === "committed") die();
      return result as never;
    },
    async transaction(work, options) {
      check();
      let struck = false;
      const result = await database.transaction(async (tx) => {
        const handle: Transaction = {
          query: guarded(tx, () => {
            struck = true;
          }),
          savepoint: (inner) => tx.savepoint(inner),
          limit: (ms) => tx.limit(ms),
        };
        const value = await work(handle);
        check();
        return value;
      }, options);
      if (struck && point?.when === "committed") die();
      return result;
    },
    script: (sql, options) => database.script(sql, options),
    listen: (channel, handler) => database.listen(channel, handler),
    status: () => database.status(),
    close: async () => undefined,
  };
  return {
    database: wrapped,
    dead: () => dead,
    die() {
      dead = true;
    },
  };
}
