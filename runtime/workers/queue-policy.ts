import type { Queue } from "pg-boss";
import { QUEUES, type QueueName, TICKERS } from "../contracts/jobs.ts";

/**
 * How jobs are kept, retried and given up. Dead jobs are evidence: nothing deletes them, an operator retries them.
 * The policy is `exclusive` because it alone lets a key exist once among all waiting and running jobs.
 */

const DAY_S = 86_400;

const COMMON = {
  policy: "exclusive",
  notify: true,
  retryBackoff: true,
  /** A model may think for hours; a worker that died is noticed by its missing heartbeat instead. */
  expireInSeconds: DAY_S - 3_600,
  heartbeatSeconds: 60,
  retentionSeconds: 365 * DAY_S,
  /** Would delete dead jobs too; completed ones are swept by `COMPLETED_KEPT_S`. */
  deleteAfterSeconds: 0,
} as const satisfies Partial<Queue>;

/** Completed jobs are kept for this long, in seconds. */
export const COMPLETED_KEPT_S = DAY_S;
/** A running job shows so often that its process lives, in seconds. */
export const HEARTBEAT_S = 4;
/** Seconds without a heartbeat after which a running job goes to another worker. */
export const STALLED_AFTER_S = 15;

interface Retries {
  readonly retryLimit: number;
  /** Seconds before the first retry; doubles with each. */
  readonly retryDelay: number;
  readonly retryDelayMax: number;
}

const RETRIES: Readonly<Record<QueueName, Retries>> = {
  [QUEUES.synthesizeToolCall]: { retryLimit: 4, retryDelay: 15, retryDelayMax: 900 },
  [QUEUES.extractWiki]: { retryLimit: 4, retryDelay: 15, retryDelayMax: 900 },
};

/** Queues of earlier versions. They stay, empty, because a node of such a version may still enqueue beside this one. */
export const FORMER_QUEUES = Object.values(TICKERS);

export const QUEUE_NAMES: readonly QueueName[] = Object.values(QUEUES);

export type QueueSettings = typeof COMMON & Retries;

export function settingsOf(queue: QueueName): QueueSettings {
  return { ...COMMON, ...RETRIES[queue] };
}
