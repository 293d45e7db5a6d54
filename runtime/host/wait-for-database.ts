/** Waits for the database and brings its schema up to date; a server that is unreachable at the start does not end the node. */

import { setTimeout as sleep } from "node:timers/promises";
import { migrate } from "../app/migrate.ts";
import type { Database } from "../contracts/database.ts";
import { CairnError } from "../contracts/errors.ts";
import type { Logger } from "../contracts/ports.ts";

export interface WaitForDatabaseOptions {
  readonly database: Database;
  /** Directory of the SQL files. */
  readonly migrations: string;
  /** Id of this node. */
  readonly node: string;
  /** Version of Cairn. */
  readonly release: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** The schema's version. Rejects with what waiting does not mend (MEMORY_SCHEMA_MISMATCH, RUNTIME_VERSION_SKEW), or when the signal aborts. */
export async function waitForDatabaseAndMigrate({
  database,
  migrations,
  node,
  release,
  logger,
  signal,
}: WaitForDatabaseOptions): Promise<number> {
  const onWait = (reason: string): void => logger.warn({ reason }, "waiting for the schema");
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      const report = await migrate(database, { directory: migrations, node, release, onWait, signal });
      if (report.applied.length > 0) logger.info({ applied: report.applied }, "the schema was brought up to date");
      return report.version;
    } catch (error) {
      if (!(error instanceof CairnError && error.retryable)) throw error;
      const { code, message, details } = error;
      logger.warn({ code, reason: message, hint: details.hint }, "waiting for the database");
      await sleep(pause, undefined, { signal });
    }
  }
}
