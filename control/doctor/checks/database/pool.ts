/** Whether the server has room for this node's connections. */

import {
  askServer,
  type ConnectionCounts,
  connectionOf,
  type DatabaseSnapshot,
  serverOf,
} from "../../context/database.ts";
import type { Asking } from "../../context/postgres.ts";
import { type Check, fail, pass, Unavailable, warn } from "../check.ts";

/** The listener's and the one for scripts come on top of the pool. */
const OUTSIDE_POOL = 2;
const SPARE = 3;

interface Row {
  readonly most: number;
  readonly reserved: number;
  readonly used: number;
}

const ROOM = `select current_setting('max_connections')::int as most,
  current_setting('superuser_reserved_connections')::int as reserved,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as used`;

export const databasePool: Check = {
  id: "database.pool",
  subject: "connections of the database server",
  async run(context, signal) {
    const config = await context.config();
    const snapshot = await context.database();
    const { used, allowed: room } =
      snapshot.backend === "stack"
        ? countsOf(snapshot)
        : await askCounts(await connectionOf(config, snapshot), { probeMs: context.probeMs, signal });
    const wanted = (config.memory.postgres?.pool ?? 0) + OUTSIDE_POOL;
    const fix = "Raise max_connections of the server, or lower memory.postgres.pool of its nodes.";
    if (wanted > room) {
      return fail(`A node wants up to ${wanted} connections, and the server allows ${room}.`, fix);
    }
    const message = `${used} of ${room} connections of the server are in use; a node takes up to ${wanted}.`;
    return room - used < SPARE ? warn(message, fix) : pass(message);
  },
};

function countsOf(snapshot: DatabaseSnapshot & { readonly backend: "stack" }): ConnectionCounts {
  serverOf(snapshot);
  if (snapshot.connections === null) throw new Unavailable("The node does not report it.");
  return snapshot.connections;
}

async function askCounts(url: string, asking: Asking): Promise<ConnectionCounts> {
  const [row] = await askServer<Row>(url, ROOM, asking);
  const { most = 0, reserved = 0, used = 0 } = row ?? {};
  return { used, allowed: most - reserved };
}
