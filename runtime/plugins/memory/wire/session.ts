import type { QueryResult, Transaction, TransactionOptions } from "../../../contracts/database.ts";
import { MemoryError } from "../../../contracts/errors.ts";
import { type Answer, type Lease, resultOf, type Statement } from "./connection.ts";
import { sqlStateOf, toMemoryError } from "./errors.ts";
import type { PreparedStatements } from "./prepared.ts";

/** One leased connection: statements with their deadlines, and the transaction on it. */

export const DEFAULT_STATEMENT_TIMEOUT_MS = 5_000;
export const DEFAULT_LOCK_TIMEOUT_MS = 2_000;
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

export interface SessionSettings {
  /** Undefined where names do not hold (a connection pooler is in between). */
  readonly prepared: PreparedStatements | undefined;
  /** True when the defaults above hold for the session already; else each transaction sets them. */
  readonly preset: boolean;
  readonly graceMs: number;
}

export class Session {
  readonly #lease: Lease;
  readonly #settings: SessionSettings;
  #statementTimeoutMs: number;
  readonly #lockTimeoutMs: number;
  readonly #idle: IdleWatch;
  #savepoints = 0;
  #unanswered = 0;
  #watchdog: NodeJS.Timeout | undefined;
  /** The driver rejects a statement before the state of the session is known. */
  #failed = false;
  /** A statement got no answer in time, so the connection was closed, with all that was sent on it. */
  #abandoned = false;

  constructor(lease: Lease, settings: SessionSettings, options: TransactionOptions = {}) {
    this.#lease = lease;
    this.#settings = settings;
    this.#statementTimeoutMs = options.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS;
    this.#lockTimeoutMs = options.lockTimeoutMs ?? DEFAULT_LOCK_TIMEOUT_MS;
    this.#idle = new IdleWatch(IDLE_IN_TRANSACTION_TIMEOUT_MS);
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>> {
    const name = values === undefined ? undefined : this.#settings.prepared?.nameOf(text);
    const answer = await this.#run({ text, ...(values ? { values: [...values] } : {}), ...(name ? { name } : {}) });
    return resultOf(answer);
  }

  /** Several statements in one message, without values; the rows of all of them. */
  async simple<Row>(text: string): Promise<QueryResult<Row>> {
    return resultOf(await this.#run({ text }));
  }

  /**
   * BEGIN, work, COMMIT; ROLLBACK when work rejects. BEGIN and its settings are one message that is not waited for:
   * the first statement follows it on the wire, so a transaction costs one round trip more than its statements.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions): Promise<T> {
    const begun = this.simple(this.#begin(options));
    begun.catch(() => {});
    const handle = new Handle(this);
    let value: T;
    try {
      value = await this.#idle.during(work(handle));
      await begun;
    } catch (error) {
      handle.close();
      // Whatever fails here leaves the session in an unknown state: the caller sees it in the client's status.
      await this.simple("ROLLBACK").catch(() => {});
      throw error;
    }
    handle.close();
    const end = await this.#run({ text: "COMMIT" }).catch((error: unknown) => {
      throw toMemoryError(error);
    });
    // What COMMIT answers when it could only roll back.
    if (!Array.isArray(end) && end.command === "ROLLBACK") {
      throw new MemoryError("MEMORY_QUERY_FAILED", "A statement of the transaction had failed: it was rolled back.", {
        hint: "Catch an expected failure in a savepoint.",
      });
    }
    return value;
  }

  /** A transaction of one statement, in one round trip. */
  async single<Row>(
    text: string,
    values: readonly unknown[] | undefined,
    options: TransactionOptions,
  ): Promise<QueryResult<Row>> {
    const begun = this.simple(this.#begin(options));
    const answer = this.query<Row>(text, values);
    const ended = this.simple("COMMIT");
    // The first failure brings about the others.
    const [failed] = (await Promise.allSettled([begun, answer, ended])).filter(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    return answer;
  }

  /** `SAVEPOINT`, work, `RELEASE`; back to the savepoint when work rejects or left a failed statement behind. */
  async savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#savepoints += 1;
    const name = `s${this.#savepoints}`;
    const set = this.simple(`SAVEPOINT ${name}`);
    set.catch(() => {});
    const handle = new Handle(this);
    try {
      const value = await work(handle);
      handle.close();
      await set;
      await this.simple(`RELEASE SAVEPOINT ${name}`);
      return value;
    } catch (error) {
      handle.close();
      await this.simple(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`).catch(() => {});
      throw error;
    }
  }

  /** For the statements of this transaction that follow. */
  async limit(statementTimeoutMs: number): Promise<void> {
    await this.simple(`SET LOCAL statement_timeout = ${whole(statementTimeoutMs)}`);
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  /** Ends a transaction that was left open; false when the session cannot be used any more. */
  async reset(): Promise<boolean> {
    if (!this.#failed && this.#lease.client.getTransactionStatus() === "I") return true;
    return this.simple("ROLLBACK").then(
      () => true,
      () => false,
    );
  }

  #begin(options: TransactionOptions): string {
    const { preset } = this.#settings;
    const settings: string[] = [];
    if (!preset || options.statementTimeoutMs !== undefined) {
      settings.push(`SET LOCAL statement_timeout = ${whole(this.#statementTimeoutMs)}`);
    }
    if (!preset || options.lockTimeoutMs !== undefined) {
      settings.push(`SET LOCAL lock_timeout = ${whole(this.#lockTimeoutMs)}`);
    }
    if (!preset) {
      settings.push(`SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`);
      settings.push("SET LOCAL timezone = 'UTC'", "SET LOCAL jit = off");
    }
    if (options.durable === false) {
      if (this.#lease.relax) this.#lease.relax();
      else settings.push("SET LOCAL synchronous_commit = off");
    }
    return ["BEGIN", ...settings].join("; ");
  }

  async #run(statement: Statement): Promise<Answer> {
    this.#idle.pause();
    this.#unanswered += 1;
    if (this.#unanswered === 1) this.#watch();
    try {
      this.#lease.gather();
      const answer = await this.#lease.client.query(statement);
      this.#failed = false;
      return answer;
    } catch (error) {
      this.#failed = true;
      if (this.#abandoned) {
        throw new MemoryError("MEMORY_TIMEOUT", "The statement ran into its deadline and was ended.", { cause: error });
      }
      throw this.#stale(error) ?? toMemoryError(error);
    } finally {
      this.#unanswered -= 1;
      clearTimeout(this.#watchdog);
      if (this.#unanswered > 0) this.#watch();
      this.#idle.resume();
    }
  }

  /** Answers come in the order of sending: the time of a statement runs from the answer to the one before it. */
  #watch(): void {
    this.#watchdog = setTimeout(() => {
      this.#abandoned = true;
      this.#lease.abandon();
    }, this.#statementTimeoutMs + this.#settings.graceMs);
  }

  /** A plan that a schema change has outdated: the same statement works when it is sent again. */
  #stale(error: unknown): MemoryError | undefined {
    if (sqlStateOf(error) !== "0A000" || !(error instanceof Error)) return undefined;
    if (!error.message.includes("cached plan")) return undefined;
    this.#settings.prepared?.forget();
    return new MemoryError("MEMORY_UNAVAILABLE", "The schema changed under a prepared statement.", { cause: error });
  }
}

/** What a transaction's work gets: usable until the work has ended. */
class Handle implements Transaction {
  readonly #session: Session;
  #open = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
  }

  async query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>> {
    this.#assertOpen();
    return this.#session.query<Row>(text, values);
  }

  /** Savepoints of one handle run one after the other: they nest on the connection, and siblings must not. */
  async savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#assertOpen();
    const before = this.#last;
    const run = before.then(() => {
      this.#assertOpen();
      return this.#session.savepoint(work);
    });
    this.#last = run.catch(() => {});
    return run;
  }

  limit(statementTimeoutMs: number): Promise<void> {
    this.#assertOpen();
    return this.#session.limit(statementTimeoutMs);
  }

  close(): void {
    this.#open = false;
  }

  #assertOpen(): void {
    if (this.#open) return;
    throw new MemoryError("MEMORY_QUERY_FAILED", "The transaction or savepoint of this handle has ended.");
  }
}

/** Ends a transaction whose work does nothing with it for too long: others wait for its connection and its locks. */
class IdleWatch {
  readonly #limitMs: number;
  readonly #over = Promise.withResolvers<never>();
  #busy = 0;
  #timer: NodeJS.Timeout | undefined;
  #watching = false;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.#over.promise.catch(() => {});
  }

  /** Settles as the work does, or rejects with MEMORY_TIMEOUT when it was idle for too long. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#watching = true;
    this.#arm();
    try {
      return await Promise.race([work, this.#over.promise]);
    } finally {
      this.#watching = false;
      clearTimeout(this.#timer);
      work.catch(() => {});
    }
  }

  pause(): void {
    this.#busy += 1;
    clearTimeout(this.#timer);
  }

  resume(): void {
    this.#busy -= 1;
    this.#arm();
  }

  #arm(): void {
    if (!this.#watching || this.#busy > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const message = "The transaction did nothing for too long and was rolled back.";
      this.#over.reject(new MemoryError("MEMORY_TIMEOUT", message));
    }, this.#limitMs);
  }
}

function whole(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds));
}
