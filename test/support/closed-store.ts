/** A store that no node has open: a directory, or the address of a PostgreSQL. */

import type { Database } from "../../runtime/contracts/database.ts";
import { openEmbedded } from "../../runtime/plugins/memory/embedded/index.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { quietLogger } from "./databases.ts";
import { type Content, contentOf } from "./full-store.ts";

/** Opens it for this work, and closes it. */
export async function withStore<T>(place: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = place.startsWith("postgres")
    ? await openPostgres({ connectionString: place, pool: 2, logger: quietLogger })
    : await openEmbedded({ path: place, logger: quietLogger });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Rows that a restore takes as they are. */
export async function rowsOf(place: string): Promise<Content> {
  const content = await withStore(place, contentOf);
  const changed = ["inbox", "turns", "turn_steps", "turn_questions", "outbox", "leases"];
  return Object.fromEntries(Object.entries(content).filter(([name]) => !changed.includes(name)));
}
