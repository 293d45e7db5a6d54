/**
 * Facts of the PostgreSQL server as this node meets it: what only it can read of a server in a network of its own.
 * Part of the health report, and what doctor judges a deployed stack's database by.
 */

import type { Database } from "../contracts/database.ts";
import type { Clock } from "../contracts/ports.ts";

export interface ServerReport {
  /** Versions of the extensions in this database; null where one is missing. */
  readonly extensions: { readonly vector: string | null; readonly pg_trgm: string | null };
  /** Those that this role can see, of those that it may have. */
  readonly connections: { readonly used: number; readonly allowed: number };
  /** Milliseconds by which the server's clock is ahead of the node's, and by how much that may be off. */
  readonly clock: { readonly ahead_ms: number; readonly uncertain_ms: number };
}

interface Row {
  readonly vector: string | null;
  readonly trgm: string | null;
  readonly used: number;
  readonly allowed: number;
  readonly now: string;
}

/** The clock is read last and by itself, so that the time of the others does not count. */
const FACTS = `select
  (select extversion from pg_extension where extname = 'vector') as vector,
  (select extversion from pg_extension where extname = 'pg_trgm') as trgm,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as allowed,
  (extract(epoch from clock_timestamp()) * 1000)::text as now`;

/** Null for the embedded store, which is no server, and where the question fails. */
export async function readServerReport(
  database: Pick<Database, "backend" | "query">,
  clock: Pick<Clock, "now">,
): Promise<ServerReport | null> {
  if (database.backend !== "postgres") return null;
  try {
    const began = clock.now().getTime();
    const { rows } = await database.query<Row>(FACTS);
    const ended = clock.now().getTime();
    const [row] = rows;
    if (row === undefined) return null;
    return {
      extensions: { vector: row.vector, pg_trgm: row.trgm },
      connections: { used: row.used, allowed: row.allowed },
      clock: {
        ahead_ms: Math.round(Number(row.now) - (began + ended) / 2),
        uncertain_ms: Math.ceil((ended - began) / 2),
      },
    };
  } catch {
    return null;
  }
}
