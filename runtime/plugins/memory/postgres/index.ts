import type { Database } from "../../../contracts/database.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { WireDatabase } from "../wire/database.ts";
import { TransactionScope } from "../wire/scope.ts";
import { PostgresConnections } from "./connections.ts";
import { PostgresListener } from "./listener.ts";
import { assertConnectionString } from "./settings.ts";

export interface PostgresSettings {
  readonly connectionString: string;
  /** The server itself, when `connectionString` is a pooler's (PgBouncer in transaction mode). */
  readonly directUrl?: string;
  /** Connections at most, at least 2; the listener's own comes on top, and with `directUrl` one for scripts. */
  readonly pool: number;
  readonly logger: Logger;
  readonly random?: () => number;
}

/**
 * The store on a PostgreSQL server. Nothing is connected yet when it resolves: an unreachable server makes the
 * statements fail with MEMORY_UNAVAILABLE, and `status()` reports it. MEMORY_INVALID_ARGUMENT for a malformed URL.
 */
export async function openPostgres(settings: PostgresSettings): Promise<Database> {
  const { connectionString, directUrl, pool, logger, random = Math.random } = settings;
  assertConnectionString(connectionString, "The connection string of the database");
  if (directUrl !== undefined) assertConnectionString(directUrl, "The direct connection string of the database");
  const direct = directUrl ?? connectionString;
  return new WireDatabase({
    backend: "postgres",
    scope: new TransactionScope(),
    connections: new PostgresConnections({
      connectionString,
      pooled: directUrl !== undefined,
      max: Math.max(2, pool),
      logger,
    }),
    ...(directUrl === undefined
      ? {}
      : { direct: new PostgresConnections({ connectionString: direct, pooled: false, max: 1, logger }) }),
    listener: new PostgresListener({ connectionString: direct, logger, random }),
  });
}
