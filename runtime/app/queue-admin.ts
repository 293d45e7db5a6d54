import type { Database } from "../contracts/database.ts";
import {
  type JobQueue,
  QUEUES,
  type QueueName,
  type QueueState,
  type RetryFailedOptions,
  type RetryFailedReport,
} from "../contracts/jobs.ts";
import { givenUpRows, retryGivenUp } from "./embedding/given-up.ts";
import type { BackfillReport, SynthesisQueue } from "./transcript/synthesis-queue.ts";

/** What an operator may ask of the job queues: their state, a backfill of tool calls, new life for dead jobs. */

export interface QueueAdmin {
  /** Every queue. What the embedder has given up counts as failed work of its queue. */
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
}

export function createQueueAdmin({ database, jobs, synthesis, wakeEmbedder }: QueueAdminDeps): QueueAdmin {
  return {
    async states() {
      const [states, givenUp] = await Promise.all([jobs.states(), givenUpRows(database)]);
      return states.map((state) =>
        state.queue === QUEUES.embed && givenUp.failed > 0
          ? { ...state, failed: state.failed + givenUp.failed, lastError: state.lastError ?? givenUp.lastError }
          : state,
      );
    },
    async backfillToolSynth(options) {
      // A short-lived node has no workers, and so its queue does not run: it takes jobs all the same.
      if (!options.dryRun) await jobs.start();
      return synthesis.backfill(options);
    },
    async retryFailed(task, options) {
      const ofJobs = await jobs.retryFailed(task, options);
      if (task !== QUEUES.embed) return ofJobs;
      const ofRows = await retryGivenUp(database, options);
      if (ofRows.retried > 0 && !options.dryRun) wakeEmbedder?.();
      return {
        matched: ofJobs.matched + ofRows.matched,
        retried: ofJobs.retried + ofRows.retried,
        skipped: ofJobs.skipped,
      };
    },
  };
}
