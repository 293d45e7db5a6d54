import type { ClientBase } from "pg";
import { MemoryError } from "../../../contracts/errors.ts";
import { isOlder } from "../../../contracts/versions.ts";

/** What the server must be: PostgreSQL 16 or newer, with pgvector 0.8 or newer installed or to be had. */

const MIN_SERVER = 160_000;
const MIN_VECTOR = "0.8";

export interface ServerFacts {
  /** For example `170010`. */
  readonly number: string;
  /** For example `17.10`. */
  readonly version: string;
  /** Versions of the extensions, created in the database or not; null where the server does not have them. */
  readonly vector: string | null;
  readonly trgm: string | null;
}

/** Asked once for each new connection. MEMORY_SCHEMA_MISMATCH when the server is too old, or lacks an extension. */
export async function checkServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<ServerFacts>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version,
            (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector') as vector,
            (select default_version from pg_available_extensions where name = 'pg_trgm') as trgm`,
  );
  const problem = serverProblem(rows[0]);
  if (problem !== undefined) throw new MemoryError("MEMORY_SCHEMA_MISMATCH", problem);
}

/** What is wrong with a server, as a sentence; undefined when nothing is. */
export function serverProblem(server: ServerFacts | undefined): string | undefined {
  if (!server || Number(server.number) < MIN_SERVER) {
    return `PostgreSQL ${server?.version ?? "of unknown version"} is too old: 16 or newer is needed.`;
  }
  if (server.vector === null) {
    return "The extension pgvector is not installed on the PostgreSQL server: 0.8 or newer is needed.";
  }
  if (isOlder(server.vector, MIN_VECTOR)) {
    return `The extension pgvector ${server.vector} is too old: 0.8 or newer is needed.`;
  }
  if (server.trgm === null) {
    return "The extension pg_trgm (part of PostgreSQL's contrib) is not installed on the PostgreSQL server.";
  }
  return undefined;
}
