/** Keeps nodes out of the database of a container, `close-database.ts CONTAINER`, until it is killed. */

import process from "node:process";
import { serverIn } from "../../../control/deploy/drivers/docker/host/container-servers.ts";
import { closeDatabase } from "../../../control/deploy/postgres/closed-database.ts";

const server = serverIn("local", process.argv[2] ?? "", 5432);
await closeDatabase(server, new AbortController().signal);
setInterval(() => undefined, 1_000);
