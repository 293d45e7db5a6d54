/** What a node tidies once an hour: accepted messages whose turns ended long ago, and audit logs past their time. */

import type { Database } from "../contracts/database.ts";
import { type JobQueue, QUEUES } from "../contracts/jobs.ts";
import type { Logger } from "../contracts/ports.ts";
import { createJobTrigger } from "./job-trigger.ts";

export interface HousekeepingDeps {
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly logger: Logger;
  /** Further work on the store, each by its name: once an hour for all nodes that share it. */
  readonly tasks: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>>;
  /** Work on this node's own files: once an hour on every node. */
  readonly local: () => Promise<unknown>;
}

export interface Housekeeping {
  start(): Promise<void>;
  stop(): void;
}

const INTERVAL_MS = 3_600_000;
const FOLLOW_MS = 5_000;
/** Ended messages are kept this long, so that a repeated delivery is still recognised. */
const KEEP_INBOX = "7 days";
const BATCH = 1_000;

export function createHousekeeping({ database, jobs, logger, tasks, local }: HousekeepingDeps): Housekeeping {
  let timer: NodeJS.Timeout | null = null;

  /** One job for all nodes that share the store. */
  const trigger = createJobTrigger({
    enqueue: () => jobs.enqueue(QUEUES.housekeeping, {}, { key: "hourly" }),
    failure: "housekeeping could not be queued",
    logger,
  });

  async function tidyFiles(): Promise<void> {
    await local().catch((error: unknown) => logger.warn({ err: error }, "this node's files could not be tidied"));
  }

  /** Turns, steps and sent replies of an inbox row go with it; the transcript is never touched. */
  async function pruneInbox(signal: AbortSignal): Promise<number> {
    let pruned = 0;
    for (;;) {
      signal.throwIfAborted();
      const { count } = await database.query(
        `/* housekeeping:inbox */ delete from inbox where id in (
           select i.id from inbox i join turns t on t.inbox_id = i.id
           where i.done_at < now() - interval '${KEEP_INBOX}'
             and not exists (select 1 from outbox o where o.turn_id = t.id and o.state = 'pending')
           limit ${BATCH})`,
      );
      pruned += count;
      if (count < BATCH) return pruned;
    }
  }

  return {
    async start() {
      await jobs.work(QUEUES.housekeeping, async ({ signal }) => {
        for (const [name, task] of Object.entries({ inbox: pruneInbox, ...tasks })) {
          signal.throwIfAborted();
          try {
            await task(signal);
          } catch (error) {
            logger.warn({ err: error, task: name }, "a housekeeping task failed; the next round tries again");
          }
        }
      });
      timer = setInterval(() => void Promise.all([trigger.enqueueNow(), tidyFiles()]), INTERVAL_MS);
      // A job that counts as running may be that of a process that was killed, whose work this one takes up.
      await trigger.enqueueNow(FOLLOW_MS);
      // Off the way to readiness.
      void tidyFiles();
    },
    stop() {
      trigger.stop();
      if (timer) clearInterval(timer);
    },
  };
}
