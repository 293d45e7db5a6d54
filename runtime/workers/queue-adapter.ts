import type { Db } from "pg-boss";
import type { Database, Queryable } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";

/** The interface of pg-boss to a database, over `Database`. */

/** Its blocks install a schema, or sweep a table. */
const BLOCK_TIMEOUT_MS = 60_000;

/** Each waits up to the lock timeout (2 s) or PostgreSQL's search for deadlocks (1 s). */
const ATTEMPTS = 6;

/**
 * pg-boss sends blocks of several statements without values, and expects an error in one to leave nothing behind, as on
 * a connection of its own: `script` runs each by itself and rolls back what it left open. `onUnavailable` is called of each
 * statement that found the database unavailable.
 */
export function bossDatabase(database: Database, onUnavailable: () => void = () => undefined): Db {
  return {
    executeSql: (text, values) =>
      withDriverErrors(
        untilLocksAreFree(text, () =>
          values?.length
            ? database.query(text, values)
            : database.script(text, { statementTimeoutMs: BLOCK_TIMEOUT_MS }),
        ),
        onUnavailable,
      ),
    listen: async (channel, onNotification, onReconnect) => {
      const stop = await database.listen(channel, (payload) =>
        payload === "" ? onReconnect() : onNotification(payload),
      );
      onReconnect();
      return { close: stop };
    },
  };
}

/** The same for one call over a caller's handle: a transaction of theirs, whose errors are theirs. */
export function bossHandle(handle: Queryable): Db {
  return { executeSql: (text, values) => handle.query(text, values) };
}

/**
 * A statement that gave way to another session (a lock was held for too long, a deadlock) has left nothing behind and is sent again.
 * Statements give way while a newer node brings the tables of pg-boss up to date, and pg-boss itself does not repeat them.
 */
async function untilLocksAreFree<T>(text: string, send: () => Promise<T>): Promise<T> {
  // An index that is built beside the work leaves its half, which the second attempt would take for the whole.
  if (/\bconcurrently\b/i.test(text)) return send();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      const isLocked = error instanceof MemoryError && error.code === "MEMORY_LOCK_TIMEOUT";
      if (!isLocked || attempt === ATTEMPTS) throw error;
    }
  }
}

/** pg-boss reads the SQLSTATE of some errors, which the driver's own error carries. */
async function withDriverErrors<T>(result: Promise<T>, onUnavailable: () => void): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof MemoryError && error.code === "MEMORY_UNAVAILABLE") onUnavailable();
    if (error instanceof MemoryError && error.details.cause instanceof Error) throw error.details.cause;
    throw error;
  }
}
