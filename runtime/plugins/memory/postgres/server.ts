import type { ClientBase } from "pg";
import { MemoryError } from "../../../contracts/errors.ts";

/** What the server must be: PostgreSQL 16 or newer, with pgvector 0.8 or newer installed or to be had. */

const MIN_SERVER = 160_000;
const MIN_VECTOR = [0, 8] as const;

/** MEMORY_SCHEMA_MISMATCH when the server is too old, or lacks an extension. */
export async function checkServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string; vector: string | null; trgm: string | null }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version,
            (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector') as vector,
            (select default_version from pg_available_extensions where name = 'pg_trgm') as trgm`,
  );
  const server = rows[0];
  if (!server || Number(server.number) < MIN_SERVER) {
    throw mismatch(`PostgreSQL ${server?.version ?? "of unknown version"} is too old: 16 or newer is needed.`);
  }
  if (server.vector === null) {
    throw mismatch("The extension pgvector is not installed on the PostgreSQL server: 0.8 or newer is needed.");
  }
  if (isOlder(server.vector, MIN_VECTOR)) {
    throw mismatch(`The extension pgvector ${server.vector} is too old: 0.8 or newer is needed.`);
  }
  if (server.trgm === null) {
    throw mismatch("The extension pg_trgm (part of PostgreSQL's contrib) is not installed on the PostgreSQL server.");
  }
}

function mismatch(message: string): MemoryError {
  return new MemoryError("MEMORY_SCHEMA_MISMATCH", message);
}

/** `0.10.1` against [0, 8]: compares number by number. */
function isOlder(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, minimum] of least.entries()) {
    const part = parts[index] ?? 0;
    if (part !== minimum) return part < minimum;
  }
  return false;
}
