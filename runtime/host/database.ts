/** From `memory` in the configuration to the store: PostgreSQL where it is named, else the embedded one. */

import { fileURLToPath } from "node:url";
import type { Config } from "../config/index.ts";
import type { Database } from "../contracts/database.ts";
import type { Logger } from "../contracts/ports.ts";
import { embedded } from "../plugins/memory/embedded/manifest.ts";
import { postgres } from "../plugins/memory/postgres/manifest.ts";

/** Directory of the SQL files, from the sources and from what is built of them. */
export const MIGRATIONS = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../migrations" : "../../../migrations", import.meta.url),
);

export function openDatabase({ memory }: Config, logger: Logger): Promise<Database> {
  if (!memory.postgres) return embedded.create({ path: memory.embedded.path, logger });
  const { connection_string: connectionString, direct_url: directUrl, pool } = memory.postgres;
  return postgres.create({ connectionString, pool, logger, ...(directUrl ? { directUrl } : {}) });
}
