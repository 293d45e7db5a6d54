/** Migrates the database of the first argument with the files of the second one: a process that a test kills meanwhile. */

import { migrate } from "../../runtime/app/migrate.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { quietLogger } from "./quiet-logger.ts";

const [connectionString = "", directory = ""] = process.argv.slice(2);
const database = await openPostgres({ connectionString, pool: 4, logger: quietLogger });
await migrate(database, { directory, node: "child" });
await database.close();
