import type { Database } from "../contracts/database.ts";
import {
  type JobQueue,
  QUEUES,
  type QueueName,
  type QueueState,
  type RetryFailedOptions,
  type RetryFailedReport,
} from "../contracts/jobs.ts";
import { givenUpConversations, retryConversations } from "./compaction/given-up.ts";
import { givenUpRows, retryGivenUp } from "./embedding/given-up.ts";
import type { BackfillReport, SynthesisQueue } from "./transcript/synthesis-queue.ts";

/** What an operator may ask of the job queues: their state, a backfill of tool calls, new life for dead jobs. */

export interface QueueAdmin {
  /** Every queue. What embedder and compactor have given up counts as failed work of their queues. */
  states(): Promise<readonly QueueState[]>;
  backfillToolSynth(options: { readonly dryRun: boolean; readonly signal?: AbortSignal }): Promise<BackfillReport>;
  /** MEMORY_INVALID_ARGUMENT when the pattern is no regular expression. */
  retryFailed(task: QueueName, options: RetryFailedOptions): Promise<RetryFailedReport>;
}

export interface QueueAdminDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "states" | "retryFailed" | "start">;
  readonly synthesis: Pick<SynthesisQueue, "backfill">;
  /** Rows wait for their vectors again. */
  readonly wakeEmbedder?: () => void;
  /** Conversations wait for their summaries again. */
  readonly wakeCompactor?: () => void;
}

export function createQueueAdmin({
  database,
  jobs,
  synthesis,
  wakeEmbedder,
  wakeCompactor,
}: QueueAdminDeps): QueueAdmin {
  /** What the queue's worker has given up beside its jobs; null where its jobs are all there is. */
  async function revive(task: QueueName, options: RetryFailedOptions): Promise<RetryFailedReport | null> {
    if (task !== QUEUES.embed && task !== QUEUES.compact) return null;
    const [retry, wake] =
      task === QUEUES.embed ? ([retryGivenUp, wakeEmbedder] as const) : ([retryConversations, wakeCompactor] as const);
    const report = await retry(database, options);
    if (report.retried > 0 && !options.dryRun) wake?.();
    return report;
  }

  return {
    async states() {
      const [states, rows, conversations] = await Promise.all([
        jobs.states(),
        givenUpRows(database),
        givenUpConversations(database),
      ]);
      const givenUp = new Map<QueueName, typeof rows>([
        [QUEUES.embed, rows],
        [QUEUES.compact, conversations],
      ]);
      return states.map((state) => {
        const { failed = 0, last_error = null } = givenUp.get(state.queue) ?? {};
        return failed === 0
          ? state
          : { ...state, failed: state.failed + failed, last_error: state.last_error ?? last_error };
      });
    },
    async backfillToolSynth(options) {
      // A short-lived node has no workers, and so its queue does not run: it takes jobs all the same.
      if (!options.dryRun) await jobs.start();
      return synthesis.backfill(options);
    },
    async retryFailed(task, options) {
      const ofJobs = await jobs.retryFailed(task, options);
      const revived = await revive(task, options);
      if (revived === null) return ofJobs;
      return {
        matched: ofJobs.matched + revived.matched,
        retried: ofJobs.retried + revived.retried,
        skipped: ofJobs.skipped,
      };
    },
  };
}
