import type { Database } from "../../contracts/database.ts";
import { type JobQueue, QUEUES } from "../../contracts/jobs.ts";
import type { Logger } from "../../contracts/ports.ts";
import { createBackground } from "../background.ts";

/**
 * Queues tool calls without content for synthesis (specification, "Tool-call content synthesis"): after the commit and
 * as best it can, so that a broken queue never costs or delays a row. What the queue did not take is offered to it again
 * until it does; a sweep at each start, and every hour, finds what a killed process had not queued.
 */

export interface SynthesisQueue {
  /** Returns at once and never throws. Ids of messages whose content is empty beside a tool name. */
  add(messageIds: readonly string[]): void;
  /** Queues every such message that has neither a job nor a dead one; answers how many jobs were added. */
  sweep(signal?: AbortSignal): Promise<number>;
  /** The same with a report; `dryRun` only counts. MEMORY_UNAVAILABLE when the queue does not run. */
  backfill(options: { readonly dryRun: boolean; readonly signal?: AbortSignal }): Promise<BackfillReport>;
  /** Resolves once nothing is being queued, but for what the queue did not take. */
  idle(): Promise<void>;
  /** Offers nothing any more; what the queue did not take is left to the next sweep. */
  stop(): void;
}

export interface BackfillReport {
  /** Messages with a tool's name and without content. */
  readonly candidates: number;
  /** Jobs that were added (with `dryRun`: that would be). One whose message got its content since it was listed does nothing. */
  readonly enqueued: number;
  /** Messages whose job waits or runs. */
  readonly queued: number;
  /** Messages whose job has failed for good: see retryFailed. */
  readonly failed: number;
}

export interface SynthesisQueueDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueueAll" | "failedKeys" | "liveKeys">;
  readonly logger: Pick<Logger, "warn">;
}

const PAGE = 500;
const RETRY_MS = 2_000;
/** Ids that are remembered while the queue is unavailable; where there are more, the whole store is looked through. */
const MAX_PENDING = 20_000;

export function createSynthesisQueue({ database, jobs, logger }: SynthesisQueueDeps): SynthesisQueue {
  const background = createBackground(logger);
  const pending = new Set<string>();
  let hasMore = false;
  let ended = false;
  let timer: NodeJS.Timeout | null = null;

  /** Logged once for each time that the queue is unavailable, however many calls come meanwhile. */
  function keepForRetry(ids: readonly string[], err: unknown): void {
    if (timer === null) logger.warn({ err }, "tool calls could not be queued; retrying");
    if (pending.size + ids.length > MAX_PENDING) hasMore = true;
    else for (const id of ids) pending.add(id);
    again();
  }

  function again(): void {
    if (ended) return;
    timer ??= setTimeout(() => void offer(), RETRY_MS);
  }

  async function offer(): Promise<void> {
    try {
      while (pending.size > 0) {
        const some = [...pending].slice(0, PAGE);
        await enqueue(some);
        for (const id of some) pending.delete(id);
      }
      if (hasMore) {
        hasMore = false;
        await backfill({ dryRun: false }).catch((error: unknown) => {
          hasMore = true;
          throw error;
        });
      }
      timer = null;
    } catch {
      timer = null;
    }
    if (pending.size > 0 || hasMore) again();
  }

  /** Answers how many were added. */
  const enqueue = (ids: readonly string[]) =>
    jobs.enqueueAll(
      QUEUES.synthesizeToolCall,
      ids.map((id) => ({ data: { message_id: id }, key: id })),
    );

  const backfill: SynthesisQueue["backfill"] = async ({ dryRun, signal }) => {
    const [dead, live] = await Promise.all([
      jobs.failedKeys(QUEUES.synthesizeToolCall),
      dryRun ? jobs.liveKeys(QUEUES.synthesizeToolCall) : new Set<string>(),
    ]);
    const report = { candidates: 0, enqueued: 0, queued: 0, failed: 0 };
    let after = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { rows } = await database.query<{ readonly id: string; readonly seq: number }>(
        `select id, seq from messages where content = '' and tool_name is not null and seq > $1
         order by seq limit ${PAGE}`,
        [after],
      );
      const alive = rows.map(({ id }) => id).filter((id) => !dead.has(id));
      const added = dryRun ? alive.filter((id) => !live.has(id)).length : await enqueue(alive);
      report.candidates += rows.length;
      report.failed += rows.length - alive.length;
      report.enqueued += added;
      report.queued += alive.length - added;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return report;
      after = last.seq;
    }
  };

  return {
    add(messageIds) {
      if (messageIds.length === 0) return;
      background.run("queue tool calls", async () => {
        try {
          await enqueue(messageIds);
        } catch (error) {
          keepForRetry(messageIds, error);
        }
      });
    },

    backfill,

    async sweep(signal) {
      return (await backfill({ dryRun: false, ...(signal === undefined ? {} : { signal }) })).enqueued;
    },

    idle: () => background.idle(),

    stop() {
      ended = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
