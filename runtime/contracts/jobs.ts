import type { Queryable } from "./database.ts";

/** Background work. The names are the specification's; jobs are in pg-boss on either backend. */

/** Work that is queued, one job a thing. */
export const QUEUES = {
  synthesizeToolCall: "synthesize-tool-call",
  extractWiki: "extract-wiki",
} as const;

/** Work that finds for itself what there is to do: nothing is queued for it. */
export const TICKERS = {
  embed: "embed",
  compact: "compact",
  enrich: "enrich",
  housekeeping: "housekeeping",
} as const;

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];
export type TickerName = (typeof TICKERS)[keyof typeof TICKERS];

/** Work of which something can fail for good: jobs, rows that have no vector, conversations that have no summary. */
export const RETRYABLE = [...Object.values(QUEUES), TICKERS.embed, TICKERS.compact] as const;
export type RetryableTask = (typeof RETRYABLE)[number];

export interface Job<Data> {
  readonly id: string;
  readonly name: QueueName;
  readonly data: Data;
  readonly signal: AbortSignal;
}

export interface EnqueueOptions {
  /** Job key: while a job with this key is waiting or running, a second one is not added. */
  readonly key?: string;
  readonly startAfterS?: number;
  /** Enqueue over this handle, that is inside the caller's transaction; wrap it in a savepoint. */
  readonly over?: Queryable;
}

/** Of a queue exact up to 10,000 of a state; counting more would be too expensive. */
export interface WorkState {
  readonly queue: QueueName | TickerName;
  /** Beyond 10,000: as they were last counted, about once a minute while a node runs, and at least 10,000. */
  readonly waiting: number;
  readonly active: number;
  /** As `waiting`. */
  readonly failed: number;
  /** Jobs of the last day, at most 10,000; runs of a ticker since the node's start. */
  readonly completed: number;
  readonly last_error: string | null;
  /** Milliseconds for which the oldest of the next 10,000 waiting jobs has been due; null where none is. */
  readonly oldest_waiting_ms: number | null;
}

export type QueueState = WorkState & { readonly queue: QueueName };

export interface RetryFailedOptions {
  /** Case-insensitive regular expression over the job's last error. MEMORY_INVALID_ARGUMENT when it is none. */
  readonly errorPattern?: string;
  /** Only count. */
  readonly dryRun?: boolean;
}

export interface RetryFailedReport {
  /** Failed jobs that the pattern matched. */
  readonly matched: number;
  /** Jobs that are waiting again (with `dryRun`: that would be). */
  readonly retried: number;
  /** Left as they are: a job with the same key is waiting or running, or is another one of the matched. */
  readonly skipped: number;
}

export interface JobQueue {
  /** The job's id, or null when a job with the same key is already there. */
  enqueue(queue: QueueName, data: object, options?: EnqueueOptions): Promise<string | null>;
  /** Many at once, in one statement; answers how many were added. Jobs whose key is there already are left out. */
  enqueueAll(queue: QueueName, jobs: readonly { readonly data: object; readonly key: string }[]): Promise<number>;
  work<Data extends object>(
    queue: QueueName,
    handler: (job: Job<Data>) => Promise<void>,
    options?: { concurrency?: number; pollS?: number },
  ): Promise<void>;
  /** Every queue, also those that were never used. */
  states(): Promise<readonly QueueState[]>;
  /** Makes dead jobs wait again, as if they were new: no attempts, no error; their keys stay. */
  retryFailed(queue: QueueName, options?: RetryFailedOptions): Promise<RetryFailedReport>;
  /** Keys of the queue's dead jobs: a backfill does not enqueue them again. */
  failedKeys(queue: QueueName): Promise<ReadonlySet<string>>;
  /** Keys of the queue's jobs that wait or run. */
  liveKeys(queue: QueueName): Promise<ReadonlySet<string>>;
  /**
   * Resolves once jobs are fetched, or once the first attempt has failed because the database is unreachable: then it keeps
   * trying by itself, and until then `enqueue` rejects with MEMORY_UNAVAILABLE.
   */
  start(): Promise<void>;
  /** Stops fetching, waits for running jobs up to the deadline, then aborts their signals. */
  stop(deadlineMs: number): Promise<void>;
}
