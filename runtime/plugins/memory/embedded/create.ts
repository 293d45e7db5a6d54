import { PGlite } from "@electric-sql/pglite";
import { isRecord } from "../../../contracts/values.ts";
import { ENOSPC } from "./durable-files.ts";
import { CREATE_PARAMETERS, START_PARAMETERS } from "./settings.ts";

/**
 * A program of its own: fills the directory named by its one argument with an empty database. Making one takes 200 MB
 * more than using one, which a thread would leave with the process that then runs for months.
 */

const directory = process.argv[2];
if (directory === undefined) throw new Error("The directory of the new database is missing.");

// The caller has aborted.
process.on("disconnect", () => process.exit(1));

try {
  const database = await PGlite.create({
    dataDir: directory,
    startParams: START_PARAMETERS,
    initDbStartParams: CREATE_PARAMETERS,
  });
  await database.close();
} catch (error) {
  // The engine's own errors have a number and no words.
  if (error instanceof Error || !isRecord(error) || error["errno"] !== ENOSPC) throw error;
  process.stderr.write("No space left on device\n");
  process.exit(1);
}
process.exit(0);
