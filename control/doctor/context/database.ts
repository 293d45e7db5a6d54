/** Probes the database from outside: a PostgreSQL server by one query, the embedded store by its files. */

import type { Config } from "../../../runtime/config/index.ts";
import { Unavailable } from "../unavailable.ts";
import { type Asking, askPostgres, explainConnection } from "./postgres.ts";
import { readStore, type StoreSnapshot } from "./store.ts";

export type DatabaseSnapshot =
  /** Of a stack: what its nodes report. `reason`: why there are no facts of a server, as a sentence. */
  | {
      readonly backend: "stack";
      readonly server: ServerFacts | null;
      readonly connections: ConnectionCounts | null;
      readonly reason: string;
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
  readonly now: string;
}

/** The clock is read last and by itself, so that the time of the others does not count. */
const FACTS = `select current_setting('server_version_num') as number, current_setting('server_version') as version,
  (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector') as vector,
  (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'pg_trgm') as trgm,
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
    const { number, version, vector, trgm, now } = row;
    const uncertainMs = (ended - began) / 2;
    const aheadMs = Number(now) - (began + ended) / 2;
    return { backend: "postgres", server: { number: Number(number), version, vector, trgm, aheadMs, uncertainMs } };
  } catch (error) {
    return { backend: "postgres", server: null, ...explainConnection(error) };
  }
}

/** Unavailable when the database is no server, or is unreachable. */
export function serverOf(snapshot: DatabaseSnapshot): ServerFacts {
  if (snapshot.backend === "embedded") throw new Unavailable("The store is embedded: there is no server.");
  if (snapshot.backend === "stack") {
    if (snapshot.server === null) throw new Unavailable(snapshot.reason);
    return snapshot.server;
  }
  if (snapshot.server === null) throw new Unavailable("The database cannot be reached (see database.reachable).");
  return snapshot.server;
}

/** The server's address; Unavailable when the database is no server, or is unreachable. */
export async function connectionOf(config: Config, snapshot: DatabaseSnapshot): Promise<string> {
  serverOf(snapshot);
  const { postgres } = config.memory;
  if (postgres === undefined) throw new Unavailable("The store is embedded: there is no server.");
  return postgres.direct_url ?? postgres.connection_string;
}
