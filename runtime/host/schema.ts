/** The service that brings the schema up to date, and the version that it then has. */

import { MIGRATIONS } from "./database.ts";
import type { Service } from "./services.ts";
import { type WaitForDatabaseOptions, waitForDatabaseAndMigrate } from "./wait-for-database.ts";

export interface SchemaService {
  readonly service: Service;
  /** Null until the database was there. */
  version(): number | null;
}

export function createSchemaService(deps: Omit<WaitForDatabaseOptions, "migrations" | "signal">): SchemaService {
  let version: number | null = null;
  return {
    version: () => version,
    service: {
      name: "schema",
      async start(signal) {
        version = await waitForDatabaseAndMigrate({ ...deps, migrations: MIGRATIONS, signal });
      },
    },
  };
}
