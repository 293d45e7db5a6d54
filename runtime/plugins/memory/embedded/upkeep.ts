import type { Database } from "../../../contracts/database.ts";
import type { Logger } from "../../../contracts/ports.ts";

/**
 * What a PostgreSQL server's background processes do, and a database inside one thread leaves undone: checkpoints
 * (without them the log grows for ever) and vacuum with fresh statistics. One short piece of work at a time.
 */

const TICK_MS = 10_000;
const VACUUM_EVERY_MS = 60_000;
const CHECKPOINT_BYTES = 24 * 1024 * 1024;
const CHECKPOINT_EVERY_MS = 5 * 60_000;
/** A small log is not worth a checkpoint on time alone: it is replayed in no time. */
const WORTH_BYTES = 256 * 1024;
const PIECE_TIMEOUT_MS = 60_000;
const AFTER_FAILURE_MS = 60 * 60_000;

export interface UpkeepSettings {
  readonly database: Database;
  readonly logger: Logger;
  /** Counts how often the connection was used: an idle store gets no upkeep. */
  readonly uses: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

export class Upkeep {
  readonly #settings: UpkeepSettings;
  readonly #failedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #usesSeen = 0;
  #checkpointAt: number;
  #vacuumAt: number;

  constructor(settings: UpkeepSettings) {
    this.#settings = settings;
    this.#checkpointAt = settings.monotonic();
    this.#vacuumAt = settings.monotonic();
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.run().finally(() => {
        this.#running = undefined;
      });
    }, TICK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Does what is due; failures are logged. */
  async run(): Promise<void> {
    const { uses, logger } = this.#settings;
    if (uses() === this.#usesSeen) return;
    try {
      await this.#checkpoint();
      await this.#vacuum();
    } catch (err) {
      logger.warn({ err }, "the upkeep of the embedded store failed");
    }
    this.#usesSeen = uses();
  }

  async #checkpoint(): Promise<void> {
    const { database, monotonic } = this.#settings;
    const { rows } = await database.query<{ bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) as bytes from pg_control_checkpoint()",
    );
    const bytes = Number(rows[0]?.bytes ?? 0);
    const late = monotonic() - this.#checkpointAt >= CHECKPOINT_EVERY_MS;
    if (bytes < CHECKPOINT_BYTES && !(late && bytes > WORTH_BYTES)) return;
    await database.script("checkpoint", { statementTimeoutMs: PIECE_TIMEOUT_MS });
    this.#checkpointAt = monotonic();
  }

  /** One table at most: the one with the most to do, by autovacuum's own thresholds. */
  async #vacuum(): Promise<void> {
    const { database, logger, monotonic } = this.#settings;
    if (monotonic() - this.#vacuumAt < VACUUM_EVERY_MS) return;
    this.#vacuumAt = monotonic();
    for (const [table, failedAt] of this.#failedAt) {
      if (monotonic() - failedAt >= AFTER_FAILURE_MS) this.#failedAt.delete(table);
    }
    const { rows } = await database.query<{ table: string; command: string }>(
      `select format('%I.%I', schemaname, relname) as table,
              case when dirty then 'vacuum (analyze)' else 'analyze' end as command
         from (select *, n_dead_tup > 50 + 0.2 * n_live_tup or n_ins_since_vacuum > 1000 + 0.2 * n_live_tup as dirty
                 from pg_stat_all_tables where schemaname !~ '^pg_(toast|temp)') t
        where (dirty or n_mod_since_analyze > 50 + 0.1 * n_live_tup)
          and format('%I.%I', schemaname, relname) <> all ($1::text[])
        order by n_dead_tup + n_mod_since_analyze desc limit 1`,
      [[...this.#failedAt.keys()]],
    );
    const due = rows[0];
    if (due === undefined) return;
    try {
      await database.script(`${due.command} ${due.table}`, { statementTimeoutMs: PIECE_TIMEOUT_MS });
    } catch (err) {
      this.#failedAt.set(due.table, monotonic());
      logger.warn({ err, table: due.table }, "a table of the embedded store could not be vacuumed");
    }
  }
}
