import type { Database } from "../contracts/database.ts";
import {
  type JobQueue,
  type RetryableTask,
  type RetryFailedOptions,
  type RetryFailedReport,
  TICKERS,
  type WorkState,
} from "../contracts/jobs.ts";
import { givenUpConversations, retryConversations } from "./compaction/given-up.ts";
import { givenUpRows, retryGivenUp } from "./embedding/given-up.ts";
import { assertErrorPattern } from "./error-pattern.ts";
import type { BackfillReport, SynthesisQueue } from "./transcript/synthesis-queue.ts";

/** What an operator may ask of background work: its state, a backfill of tool calls, new life for what has failed. */

export interface QueueAdmin {
  /** Every queue, and this node's tickers. What embedder and compactor have given up in the store counts as their failed work. */
  states(): Promise<readonly WorkState[]>;
  backfillToolSynth(options: { readonly dryRun: boolean; readonly signal?: AbortSignal }): Promise<BackfillReport>;
  /** MEMORY_INVALID_ARGUMENT when the pattern is no regular expression. */
  retryFailed(task: RetryableTask, options: RetryFailedOptions): Promise<RetryFailedReport>;
}

export interface QueueAdminDeps {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "states" | "retryFailed" | "start">;
  readonly tickers?: { states(): readonly WorkState[] };
  readonly synthesis: Pick<SynthesisQueue, "backfill">;
  /** Rows wait for their vectors again. */
  readonly wakeEmbedder?: () => void;
  /** Conversations wait for their summaries again. */
  readonly wakeCompactor?: () => void;
}

export function createQueueAdmin(deps: QueueAdminDeps): QueueAdmin {
  const { database, jobs, synthesis } = deps;

  /** What a ticker's work has given up: rows without a vector, conversations without a summary. */
  async function revive(task: typeof TICKERS.embed | typeof TICKERS.compact, options: RetryFailedOptions) {
    const [retry, wake] =
      task === TICKERS.embed
        ? ([retryGivenUp, deps.wakeEmbedder] as const)
        : ([retryConversations, deps.wakeCompactor] as const);
    if (options.errorPattern !== undefined) await assertErrorPattern(database, options.errorPattern);
    const report = await retry(database, options);
    if (report.retried > 0 && !options.dryRun) wake?.();
    return report;
  }

  return {
    async states() {
      const [queues, rows, conversations] = await Promise.all([
        jobs.states(),
        givenUpRows(database),
        givenUpConversations(database),
      ]);
      const givenUp = new Map<WorkState["queue"], typeof rows>([
        [TICKERS.embed, rows],
        [TICKERS.compact, conversations],
      ]);
      const tickers = (deps.tickers?.states() ?? []).map((state) => {
        const { failed = 0, last_error = null } = givenUp.get(state.queue) ?? {};
        return { ...state, failed, last_error: state.last_error ?? last_error };
      });
      return [...queues, ...tickers];
    },
    async backfillToolSynth(options) {
      // A short-lived node has no workers, and so its queue does not run: it takes jobs all the same.
      if (!options.dryRun) await jobs.start();
      return synthesis.backfill(options);
    },
    retryFailed: (task, options) =>
      task === TICKERS.embed || task === TICKERS.compact ? revive(task, options) : jobs.retryFailed(task, options),
  };
}
