import { Pool, type PoolClient } from "pg";
import type { Logger } from "../../../contracts/ports.ts";
import { CLOSE_TIMEOUT_MS, type Connections, type Lease } from "../wire/connection.ts";
import { toMemoryError } from "../wire/errors.ts";
import { checkServer } from "./server.ts";
import { directSettings, pooledSettings } from "./settings.ts";

/** A pool of connections to a server. It connects at the first use, so a server that is down at start is no failure. */

const ACQUIRE_TIMEOUT_MS = 5_000;
/** The server ends a statement at its deadline; when even its answer is missing by then, the connection is dead. */
const GRACE_MS = 2_000;
const IDLE_MS = 60_000;
/** A server that answered so recently is there, even when all connections are in use. */
const ALIVE_MS = 10_000;

export interface PoolSettings {
  readonly connectionString: string;
  /** True when a pooler (PgBouncer) is in between: no session survives a transaction. */
  readonly pooled: boolean;
  /** Connections at most. */
  readonly max: number;
  readonly logger: Logger;
}

export class PostgresConnections implements Connections {
  readonly sessions: boolean;
  readonly graceMs = GRACE_MS;
  readonly #pool: Pool;
  readonly #lent = new Set<PoolClient>();
  #answeredAt = Number.NEGATIVE_INFINITY;

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
      return this.#lease(await this.#pool.connect());
    } catch (error) {
      throw toMemoryError(error);
    }
  }

  alive(): boolean {
    return performance.now() - this.#answeredAt < ALIVE_MS;
  }

  async close(): Promise<void> {
    const deadline = setTimeout(() => {
      for (const client of this.#lent) client.connection.stream.destroy();
    }, CLOSE_TIMEOUT_MS);
    await this.#pool.end();
    clearTimeout(deadline);
  }

  #lease(client: PoolClient): Lease {
    this.#lent.add(client);
    return {
      client,
      abandon: () => client.connection.stream.destroy(),
      gather: () => {
        const { stream } = client.connection;
        stream.cork();
        process.nextTick(() => stream.uncork());
      },
      release: (broken = false) => {
        if (!broken) this.#answeredAt = performance.now();
        this.#lent.delete(client);
        client.release(broken);
      },
    };
  }
}
