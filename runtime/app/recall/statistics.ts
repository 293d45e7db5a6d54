import type { Database } from "../../contracts/database.ts";

/**
 * The planner's statistics of the embedded store, which has no autovacuum to keep them. Searches read from them how
 * common a word is.
 */

export interface Statistics {
  /** Collects them anew once the store has doubled since; does nothing on a server, which does it itself. */
  refreshIfDue(): Promise<void>;
}

const FIRST_AT = 500;
/** Tables that searches read. */
const ANALYZE = "analyze messages; analyze summaries; analyze conversations; analyze message_keys; analyze access";

/** Looking is cheap but not free: at the first search, and then now and then. */
const SEARCHES_BETWEEN = 50;

export function createStatistics(database: Database): Statistics {
  let searches = 0;
  let running = false;
  return {
    async refreshIfDue() {
      searches += 1;
      if (database.backend !== "embedded" || running || searches % SEARCHES_BETWEEN !== 1) return;
      running = true;
      try {
        await refresh(database);
      } finally {
        running = false;
      }
    },
  };
}

async function refresh(database: Database): Promise<void> {
  const { rows } = await database.query<{ readonly messages: number; readonly analyzed: number }>(
    `select (select last_value from messages_seq_seq)::float8 as messages,
      (select reltuples from pg_class where oid = 'messages'::regclass)::float8 as analyzed`,
  );
  const { messages = 0, analyzed = 0 } = rows[0] ?? {};
  if (messages >= Math.max(FIRST_AT, 2 * analyzed)) await database.script(ANALYZE);
}
