import { afterAll, describe } from "vitest";
import { migrate } from "../../../../runtime/app/migrate.ts";
import { openPostgres } from "../../../../runtime/plugins/memory/postgres/index.ts";
import { type PostgresServer, startPostgres } from "../../../lanes/postgres.ts";
import { MIGRATIONS } from "../../../support/databases.ts";
import { testPlans } from "../../../support/plan-suite.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

/** The bounds that hold at 10,000 messages hold at 200,000: what a statement reads does not grow with the store. */

describe("plans at 200,000 messages", () => {
  let server: PostgresServer | undefined;
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends) await end();
    await server?.stop();
  });
  testPlans(
    async () => {
      server = await startPostgres();
      const database = await openPostgres({ connectionString: server.url, pool: 4, logger: quietLogger });
      ends.push(() => database.close());
      await migrate(database, { directory: MIGRATIONS });
      return database;
    },
    200_000,
    600_000,
  );
});
