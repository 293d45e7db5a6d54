import type { Database } from "../../contracts/database.ts";
import { type JobQueue, QUEUES } from "../../contracts/jobs.ts";
import type { Logger } from "../../contracts/ports.ts";
import { createBackground } from "../background.ts";

/**
 * Queues tool calls without content for synthesis (specification, "Tool-call content synthesis"): after the commit and
 * as best it can, so that a broken queue never costs or delays a row. A sweep queues what was missed.
 */

export interface SynthesisQueue {
  /** Returns at once and never throws. Ids of messages whose content is empty beside a tool name. */
  add(messageIds: readonly string[]): void;
  /** Queues every such message that has neither a job nor a dead one; answers how many jobs were added. */
  sweep(signal?: AbortSignal): Promise<number>;
  /** Resolves once nothing is being queued. */
  settled(): Promise<void>;
}

export interface SynthesisQueueDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "failedKeys">;
  readonly logger: Pick<Logger, "warn">;
}

const PAGE = 500;

export function createSynthesisQueue({ database, jobs, logger }: SynthesisQueueDeps): SynthesisQueue {
  const background = createBackground(logger);

  const enqueue = (id: string) => jobs.enqueue(QUEUES.synthesizeToolCall, { message_id: id }, { key: id });

  return {
    add(messageIds) {
      if (messageIds.length === 0) return;
      // One after the other: a batch of a thousand must not take all connections.
      background.run("queue tool calls", async () => {
        for (const id of messageIds) await enqueue(id);
      });
    },

    async sweep(signal) {
      const dead = await jobs.failedKeys(QUEUES.synthesizeToolCall);
      let added = 0;
      let after = 0;
      for (;;) {
        signal?.throwIfAborted();
        const { rows } = await database.query<{ readonly id: string; readonly seq: number }>(
          `select id, seq from messages where content = '' and tool_name is not null and seq > $1
           order by seq limit ${PAGE}`,
          [after],
        );
        for (const { id } of rows) {
          if (!dead.has(id) && (await enqueue(id)) !== null) added += 1;
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE) return added;
        after = last.seq;
      }
    },

    settled: () => background.settled(),
  };
}
