import { Pool, type PoolClient } from "pg";
import type { Logger } from "../../../contracts/ports.ts";
import type { Connections, Lease } from "../wire/connection.ts";
import { toMemoryError } from "../wire/errors.ts";
import { checkServer } from "./server.ts";
import { directSettings, pooledSettings } from "./settings.ts";

/** A pool of connections to a server. It connects when first asked, so a server that is down at start is no failure. */

const ACQUIRE_TIMEOUT_MS = 5_000;
/** The server ends a statement at its deadline; when even its answer is missing by then, the connection is dead. */
const GRACE_MS = 2_000;
const IDLE_MS = 60_000;

export interface PoolSettings {
  readonly connectionString: string;
  /** True when a pooler (PgBouncer) stands between: no session survives a transaction. */
  readonly pooled: boolean;
  /** Connections at most. */
  readonly max: number;
  readonly logger: Logger;
}

export class PostgresConnections implements Connections {
  readonly sessions: boolean;
  readonly graceMs = GRACE_MS;
  readonly #pool: Pool;

  constructor({ connectionString, pooled, max, logger }: PoolSettings) {
    this.sessions = !pooled;
    this.#pool = new Pool({
      ...(pooled ? pooledSettings(connectionString) : directSettings(connectionString)),
      max,
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      onConnect: checkServer,
    });
    this.#pool.on("error", (error) =>
      logger.warn({ err: toMemoryError(error) }, "an idle database connection was lost"),
    );
    // While a client is lent out the pool does not listen to it; its statements reject, which is enough.
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  async acquire(): Promise<Lease> {
    try {
      return leaseOf(await this.#pool.connect());
    } catch (error) {
      throw toMemoryError(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function leaseOf(client: PoolClient): Lease {
  return {
    client,
    abandon: () => client.connection.stream.destroy(),
    release: (broken = false) => client.release(broken),
  };
}
