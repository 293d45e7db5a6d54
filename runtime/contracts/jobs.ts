import type { Queryable } from "./database.ts";

/** Background work. Queue names are the specification's; the implementation is pg-boss on either backend. */

export const QUEUES = {
  synthesizeToolCall: "synthesize-tool-call",
  extractWiki: "extract-wiki",
  embed: "embed",
  compact: "compact",
  enrich: "enrich",
  housekeeping: "housekeeping",
} as const;

export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

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

export interface QueueState {
  readonly queue: QueueName;
  readonly waiting: number;
  readonly active: number;
  readonly failed: number;
  readonly completed: number;
  readonly lastError: string | null;
}

export interface JobQueue {
  /** The job's id, or null when a job with the same key is already there. */
  enqueue(queue: QueueName, data: object, options?: EnqueueOptions): Promise<string | null>;
  work<Data extends object>(queue: QueueName, handler: (job: Job<Data>) => Promise<void>, options?: { concurrency?: number; pollS?: number }): Promise<void>;
  states(): Promise<readonly QueueState[]>;
  start(): Promise<void>;
  /** Stops fetching, waits for running jobs up to the deadline, then aborts their signals. */
  stop(deadlineMs: number): Promise<void>;
}
