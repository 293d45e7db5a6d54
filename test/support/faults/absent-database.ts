/** A store that is unavailable for a while, as one process sees it: every statement is refused, and what runs goes on unheard. */

import type { Database, Queryable, Transaction } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";

export interface Absent {
  readonly database: Database;
  disconnect(): void;
  come(): void;
}

export function absent(database: Database): Absent {
  let unavailable = false;
  async function here<T>(work: () => Promise<T>): Promise<T> {
    check();
    const result = await work();
    check();
    return result;
  }
  function check(): void {
    if (unavailable) throw new MemoryError("MEMORY_UNAVAILABLE", "The store is unavailable.");
  }
  const query: Database["query"] = (text, values, options) => here(() => database.query(text, values, options));
  return {
    database: {
      backend: database.backend,
      query,
      transaction: (work, options) =>
        here(() =>
          database.transaction((tx) => {
            const checked: Queryable["query"] = (text, values) => here(() => tx.query(text, values));
            const limit: Transaction["limit"] = (ms) => here(() => tx.limit(ms));
            return work({ query: checked, savepoint: (nested) => here(() => tx.savepoint(nested)), limit });
          }, options),
        ),
      script: (sql, options) => here(() => database.script(sql, options)),
      listen: (channel, handler) => database.listen(channel, handler),
      status: () => database.status(),
      close: () => database.close(),
    },
    disconnect() {
      unavailable = true;
    },
    come() {
      unavailable = false;
    },
  };
}
