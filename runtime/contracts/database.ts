/**
 * The store's one door: SQL in PostgreSQL's dialect over two backends (a PostgreSQL server; PGlite in a worker thread).
 * Values bind as `pg` binds them: jsonb parameters are passed as JSON text, timestamps as ISO text or Date, bigint
 * columns come back as number where they are safe integers, timestamptz as Date, json and jsonb parsed.
 * Failures are MemoryErrors: MEMORY_UNAVAILABLE (connection lost, retryable), MEMORY_TIMEOUT, MEMORY_LOCK_TIMEOUT,
 * MEMORY_STORE_FULL, MEMORY_QUERY_FAILED with the driver's error (and its SQLSTATE in `code`) as cause.
 */

export interface QueryResult<Row> {
  readonly rows: Row[];
  /** Rows returned or affected. */
  readonly count: number;
}

export interface Queryable {
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>>;
}

export interface Transaction extends Queryable {
  /** Runs work inside a savepoint: when it throws, only its own changes are undone and the error is rethrown. */
  savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Another deadline for each statement that follows, in milliseconds. */
  limit(statementTimeoutMs: number): Promise<void>;
}

export interface QueryOptions {
  /**
   * False for a commit that may be lost in a power cut (it is never reordered before an earlier one): claims, counters.
   * Default true.
   */
  readonly durable?: boolean;
}

export interface TransactionOptions extends QueryOptions {
  /** Deadline of each statement, in milliseconds; default 5,000. Long work (migrations, restore) sets more. */
  readonly statementTimeoutMs?: number;
  /** Milliseconds to wait for a lock; default 2,000. */
  readonly lockTimeoutMs?: number;
}

export interface DatabaseStatus {
  readonly backend: "postgres" | "embedded";
  readonly reachable: boolean;
  /** Server version as it names itself, for example `17.10`. */
  readonly version?: string;
  readonly error?: string;
}

export interface Database extends Queryable {
  readonly backend: "postgres" | "embedded";
  /** One statement, committed when it resolves. */
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<QueryResult<Row>>;
  /** READ COMMITTED. Commits when work resolves, rolls back when it rejects; only the handle given to work is in it. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * One multi-statement script without parameters, outside any transaction of ours (migrations bring their own). The
   * rows of all its statements, in their order; a block that it leaves open is rolled back.
   */
  script<Row = Record<string, unknown>>(sql: string, options?: TransactionOptions): Promise<QueryResult<Row>>;
  /** Calls handler for every NOTIFY on the channel, until the returned function is called; survives reconnects. */
  listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>>;
  status(): Promise<DatabaseStatus>;
  close(): Promise<void>;
}
