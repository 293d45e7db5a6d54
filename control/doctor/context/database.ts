/** Probes the database from outside: a PostgreSQL server by one query, the embedded store by its files. */

import type { Config } from "../../../runtime/config/index.ts";
import { Unavailable } from "../unavailable.ts";
import { type Asking, askPostgres, explainConnection, isConnectionError } from "./postgres.ts";
import { readStore, type StoreSnapshot } from "./store.ts";

export type DatabaseSnapshot =
  /** Of a stack: what its nodes report. `reason`: why there are no facts of a server, as a sentence. */
  | {
      readonly backend: "stack";
      readonly server: ServerFacts | null;
      readonly connections: ConnectionCounts | null;
      readonly reason: string;
      /** The checks that report the reason. */
      readonly see: readonly string[];
    }
  | { readonly backend: "embedded"; readonly store: StoreSnapshot }
  | { readonly backend: "postgres"; readonly server: ServerFacts }
  | { readonly backend: "postgres"; readonly server: null; readonly reason: string; readonly fix: string };

export interface ServerFacts {
  /** For example 170010, and the same in words. */
  readonly number: number;
  readonly version: string;
  /** Version of the extension, installed or to be had; null where the server has none. */
  readonly vector: string | null;
  readonly trgm: string | null;
  /** Extensions that the database lacks, and this role may not create in it. */
  readonly forbidden: readonly string[];
  /** Milliseconds by which the server's clock is ahead of this machine's, or of the node's that reports it. */
  readonly aheadMs: number;
  /** Half of the time that the question took: how far `aheadMs` may be off. */
  readonly uncertainMs: number;
}

/** Connections of a server: those in use, and those that may be. */
export interface ConnectionCounts {
  readonly used: number;
  readonly allowed: number;
}

interface Row {
  readonly number: string;
  readonly version: string;
  readonly vector: string | null;
  readonly trgm: string | null;
  readonly forbidden: readonly string[];
  readonly now: string;
}

/** The clock is read last and by itself, so that the time of the others does not count. */
const FACTS = `select current_setting('server_version_num') as number, current_setting('server_version') as version,
  (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector') as vector,
  (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'pg_trgm') as trgm,
  array(select extension.name::text from pg_available_extensions extension
    where extension.name in ('vector', 'pg_trgm') and extension.installed_version is null
      and not (select rolsuper from pg_roles where rolname = current_user)
      and not (has_database_privilege(current_database(), 'CREATE') and exists (
        select from pg_available_extension_versions offered
        where offered.name = extension.name and to_jsonb(offered) ->> 'trusted' = 'true'))) as forbidden,
  (extract(epoch from clock_timestamp()) * 1000)::text as now`;

/** From this machine. Never rejects for a database that is not there. */
export async function readDatabase(config: Config, asking: Asking): Promise<DatabaseSnapshot> {
  const { backend, embedded, postgres } = config.memory;
  if (backend === "embedded" || postgres === undefined) {
    return { backend: "embedded", store: await readStore(embedded.path) };
  }
  const began = Date.now();
  try {
    const [row] = await askPostgres<Row>(postgres.connection_string, FACTS, asking);
    const ended = Date.now();
    if (row === undefined) throw new Error("the server answered with nothing");
    const { number, version, vector, trgm, forbidden, now } = row;
    const uncertainMs = (ended - began) / 2;
    const aheadMs = Number(now) - (began + ended) / 2;
    return {
      backend: "postgres",
      server: { number: Number(number), version, vector, trgm, forbidden, aheadMs, uncertainMs },
    };
  } catch (error) {
    return { backend: "postgres", server: null, ...explainConnection(error) };
  }
}

/** Unavailable when the database is no server, or is unreachable. */
export function serverOf(snapshot: DatabaseSnapshot): ServerFacts {
  if (snapshot.backend === "embedded") throw new Unavailable("The store is embedded: there is no server.");
  if (snapshot.backend === "stack") {
    if (snapshot.server === null) throw new Unavailable(snapshot.reason, snapshot.see);
    return snapshot.server;
  }
  if (snapshot.server === null) throw new Unavailable("The database cannot be reached.", ["database.reachable"]);
  return snapshot.server;
}

/** Unavailable for a server that was there a moment ago: database.reachable reports it where that lasts. Other errors as they are. */
export async function askServer<Row extends object>(url: string, sql: string, asking: Asking): Promise<readonly Row[]> {
  try {
    return await askPostgres<Row>(url, sql, asking);
  } catch (error) {
    if (asking.signal.aborted || !isConnectionError(error)) throw error;
    throw new Unavailable(`The database stopped answering: ${explainConnection(error).reason}.`, [
      "database.reachable",
    ]);
  }
}

/** The server's address; Unavailable when the database is no server, or is unreachable. */
export async function connectionOf(config: Config, snapshot: DatabaseSnapshot): Promise<string> {
  serverOf(snapshot);
  const { postgres } = config.memory;
  if (postgres === undefined) throw new Unavailable("The store is embedded: there is no server.");
  return postgres.direct_url ?? postgres.connection_string;
}
