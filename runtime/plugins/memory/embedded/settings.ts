import {
  DEFAULT_LOCK_TIMEOUT_MS,
  DEFAULT_STATEMENT_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
} from "../wire/session.ts";

/** How a new database is made: small write-ahead segments, since one person's store writes little. */
export const CREATE_PARAMETERS = ["--wal-segsize=4"];

/**
 * How PostgreSQL is started inside the thread: as PGlite does it, but with fsync on (through `fsync`, the call that
 * reaches the disk here) and with small buffers: the operating system caches the files anyway.
 */
export const START_PARAMETERS = [
  "--single",
  "-O",
  "-j",
  ...Object.entries({
    search_path: "public",
    exit_on_error: "false",
    log_checkpoints: "false",
    max_worker_processes: "0",
    max_parallel_workers: "0",
    max_parallel_workers_per_gather: "0",
    max_parallel_maintenance_workers: "0",
    io_method: "sync",
    wal_sync_method: "fsync",
    shared_buffers: "16MB",
    min_wal_size: "32MB",
    max_wal_size: "64MB",
    timezone: "UTC",
    statement_timeout: String(DEFAULT_STATEMENT_TIMEOUT_MS),
    lock_timeout: String(DEFAULT_LOCK_TIMEOUT_MS),
    idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_TIMEOUT_MS),
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
];
