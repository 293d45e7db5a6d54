/** The routes over the job queues as functions. */

import { type Connection, call } from "./http.ts";
import type { BackfillResult, CallOptions, QueueStatus, RetryResult } from "./types.ts";

export function jobCalls(connection: Connection) {
  return {
    async queueStatus(given?: CallOptions): Promise<readonly QueueStatus[]> {
      const { queues } = await call<{ queues: readonly QueueStatus[] }>(connection, "/api/admin/jobs", given);
      return queues;
    },
    backfillToolSynth: ({ dryRun = false, ...given }: CallOptions & { readonly dryRun?: boolean } = {}) =>
      call<BackfillResult>(connection, "/api/admin/memory/backfill-tool-synth", {
        method: "POST",
        json: { dry_run: dryRun },
        timeoutMs: 0,
        ...given,
      }),
    retryFailed: (
      task: string,
      { error, dryRun = false, ...given }: CallOptions & { error?: string | undefined; dryRun?: boolean } = {},
    ) =>
      call<RetryResult>(connection, `/api/admin/jobs/${encodeURIComponent(task)}/retry-failed`, {
        method: "POST",
        json: { dry_run: dryRun, ...(error === undefined ? {} : { error }) },
        ...given,
      }),
  };
}
