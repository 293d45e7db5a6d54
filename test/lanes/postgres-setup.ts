/** Vitest global setup of the lanes that need PostgreSQL: one private server for all their files. */

import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";
import { findPostgres } from "./postgres-binaries.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Superuser connection string of the server, or null where no suitable PostgreSQL is installed. */
    postgresUrl: string | null;
  }
}

/**
 * Provides `inject("postgresUrl")` and CAIRN_TEST_PG_URL. A server that CAIRN_TEST_PG_URL already names is used as it is
 * and left running.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.CAIRN_TEST_PG_URL;
  if (given) {
    project.provide("postgresUrl", given);
    return undefined;
  }
  if (!findPostgres().ok) {
    project.provide("postgresUrl", null);
    return undefined;
  }
  const server = await startPostgres();
  process.env.CAIRN_TEST_PG_URL = server.url;
  project.provide("postgresUrl", server.url);
  return async () => {
    delete process.env.CAIRN_TEST_PG_URL;
    await server.stop();
  };
}
