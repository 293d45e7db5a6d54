import type { JobQueue, QueueName, QueueState, RetryFailedOptions, RetryFailedReport } from "../contracts/jobs.ts";
import type { BackfillReport, SynthesisQueue } from "./transcript/synthesis-queue.ts";

/** What an operator may ask of the job queues: their state, a backfill of tool calls, new life for dead jobs. */

export interface QueueAdmin {
  states(): Promise<readonly QueueState[]>;
  backfillToolSynth(options: { readonly dryRun: boolean; readonly signal?: AbortSignal }): Promise<BackfillReport>;
  /** MEMORY_INVALID_ARGUMENT when the pattern is no regular expression. */
  retryFailed(task: QueueName, options: RetryFailedOptions): Promise<RetryFailedReport>;
}

export interface QueueAdminDeps {
  readonly jobs: Pick<JobQueue, "states" | "retryFailed" | "start">;
  readonly synthesis: Pick<SynthesisQueue, "backfill">;
}

export function createQueueAdmin({ jobs, synthesis }: QueueAdminDeps): QueueAdmin {
  return {
    states: () => jobs.states(),
    async backfillToolSynth(options) {
      // A short-lived node has no workers, and so its queue does not run: it takes jobs all the same.
      if (!options.dryRun) await jobs.start();
      return synthesis.backfill(options);
    },
    retryFailed: (task, options) => jobs.retryFailed(task, options),
  };
}
