import { setTimeout } from "node:timers/promises";
import type {
  Database,
  DatabaseStatus,
  QueryOptions,
  QueryResult,
  Transaction,
  TransactionOptions,
} from "../../../contracts/database.ts";
import { MemoryError } from "../../../contracts/errors.ts";
import type { Connections } from "./connection.ts";
import { PreparedStatements } from "./prepared.ts";
import type { TransactionScope } from "./scope.ts";
import { Session, type SessionSettings } from "./session.ts";

const STATUS_TIMEOUT_MS = 2_000;

/** LISTEN, kept up across lost connections. */
export interface Listener {
  /** Resolves once the server listens, or at once when it is unreachable (and listens as soon as it is back). */
  listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WireDatabaseParts {
  readonly backend: Database["backend"];
  readonly connections: Connections;
  /** Where scripts run, when not on `connections`: they change session settings, which a pooler would mix up. */
  readonly direct?: Connections;
  readonly listener: Listener;
  readonly scope: TransactionScope;
  readonly onClosing?: () => Promise<void>;
  readonly onClosed?: () => Promise<void>;
}

/** The Database of both backends: they use the same protocol, and differ in where the connections come from. */
export class WireDatabase implements Database {
  readonly backend: Database["backend"];
  readonly #parts: WireDatabaseParts;
  readonly #settings: SessionSettings;
  #closing: Promise<void> | undefined;
  #version: string | undefined;

  constructor(parts: WireDatabaseParts) {
    this.backend = parts.backend;
    this.#parts = parts;
    const { sessions, graceMs } = parts.connections;
    this.#settings = { prepared: sessions ? new PreparedStatements() : undefined, preset: sessions, graceMs };
  }

  async query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options: QueryOptions = {},
  ): Promise<QueryResult<Row>> {
    this.#parts.scope.assertOutside("query");
    const autocommit = this.#settings.preset && options.durable !== false;
    return this.#with(this.#parts.connections, {}, (session) =>
      autocommit ? session.query<Row>(text, values) : session.single<Row>(text, values, options),
    );
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    this.#parts.scope.assertOutside("transaction");
    return this.#with(this.#parts.connections, options, (session) =>
      session.transaction((tx) => this.#parts.scope.run(() => work(tx)), options),
    );
  }

  async script<Row = Record<string, unknown>>(
    sql: string,
    options: TransactionOptions = {},
  ): Promise<QueryResult<Row>> {
    this.#parts.scope.assertOutside("script");
    return this.#with(this.#parts.direct ?? this.#parts.connections, options, async (session) => {
      const settings = Object.entries({
        statement_timeout: options.statementTimeoutMs,
        lock_timeout: options.lockTimeoutMs,
      }).filter((entry) => entry[1] !== undefined);
      for (const [name, value] of settings) void session.simple(`SET ${name} = ${value}`).catch(() => {});
      try {
        return await session.simple<Row>(sql);
      } finally {
        // A block that failed half way is still open, and its session would refuse everything.
        await session.reset();
        for (const [name] of settings) await session.simple(`RESET ${name}`).catch(() => {});
      }
    });
  }

  listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>> {
    return this.#parts.scope.outside(() => this.#parts.listener.listen(channel, handler));
  }

  /** Never waits long: a database that is only busy is reachable. */
  async status(): Promise<DatabaseStatus> {
    const { backend } = this;
    const patience = new AbortController();
    const late = setTimeout(STATUS_TIMEOUT_MS, "late", { signal: patience.signal }).catch(() => "late" as const);
    try {
      const answer = await Promise.race([this.#parts.scope.outside(() => this.#askVersion()), late]);
      if (answer === "late" && !this.#parts.connections.alive()) {
        return { backend, reachable: false, error: "The database does not answer." };
      }
      return { backend, reachable: true, ...(this.#version ? { version: this.#version } : {}) };
    } catch (error) {
      return { backend, reachable: false, error: error instanceof Error ? error.message : String(error) };
    } finally {
      patience.abort();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#parts.onClosing?.();
    await this.#parts.listener.close();
    await this.#parts.direct?.close();
    await this.#parts.connections.close();
    await this.#parts.onClosed?.();
  }

  async #askVersion(): Promise<void> {
    const { rows } = await this.query<{ version: string }>("select current_setting('server_version') as version");
    this.#version = rows[0]?.version.split(" ", 1)[0];
  }

  async #with<T>(
    connections: Connections,
    options: TransactionOptions,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    if (this.#closing) throw new MemoryError("MEMORY_UNAVAILABLE", "The database is closed.");
    const lease = await this.#parts.scope.outside(() => connections.acquire());
    const session = new Session(lease, this.#settings, options);
    try {
      return await work(session);
    } finally {
      lease.release(!(await session.reset()));
    }
  }
}
