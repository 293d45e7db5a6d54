/** Keeps nodes out of the database of a container, `close-database.ts CONTAINER`, until it is killed. */

import process from "node:process";
import { closeDatabase } from "../../../control/deploy/drivers/docker/host/closed-database.ts";

const server = { container: process.argv[2] ?? "", host: "local", port: 5432 };
await closeDatabase(server, new AbortController().signal);
setInterval(() => undefined, 1_000);
