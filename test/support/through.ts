import type { Database } from "../../runtime/contracts/database.ts";

/** The same store, for a test that has a part of it behave otherwise. Closing it closes the store. */
export function through(database: Database, changed: Partial<Database> = {}): Database {
  return {
    backend: database.backend,
    query: (...args) => database.query(...args),
    transaction: (...args) => database.transaction(...args),
    script: (...args) => database.script(...args),
    listen: (...args) => database.listen(...args),
    status: () => database.status(),
    close: () => database.close(),
    ...changed,
  };
}

/** The same store as a further node of a server would see it, whatever its backend is. */
export function notEmbedded(database: Database): Database {
  return through(database, { backend: "postgres" });
}
