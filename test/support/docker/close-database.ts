/** Keeps nodes out of the database of a container, `close-database.ts CONTAINER`, until it is killed. */

import process from "node:process";
import { closeDatabase } from "../../../control/deploy/drivers/docker/host/closed-database.ts";

await closeDatabase(process.argv[2] ?? "", "local", new AbortController().signal);
setInterval(() => undefined, 1_000);
