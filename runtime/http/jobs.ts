/** Background work for an operator: its state, a backfill of tool calls, new life for what has failed. */

import { z } from "zod";
import { RETRYABLE } from "../contracts/jobs.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { ok, success } from "./schemas.ts";

const MAX_PATTERN = 1_000;

const taskSchema = z.enum(RETRYABLE);

const queueSchema = z.object({
  queue: z.string(),
  waiting: z
    .number()
    .describe(
      "Exact up to 10,000; more are as they were last counted, about once a minute. Of a ticker 1 after a run that failed.",
    ),
  active: z.number(),
  failed: z
    .number()
    .describe(
      "Work that has used up its attempts and stays until it is retried: dead jobs, rows without a vector, conversations without a summary.",
    ),
  completed: z
    .number()
    .describe("Jobs of the last day, 10,000 stands for any more; of a ticker its runs since the start of this node."),
  last_error: z.string().nullable().describe("Of the one that failed last."),
  oldest_waiting_ms: z
    .number()
    .nullable()
    .describe("For how long the oldest waiting job has been due, or a ticker has failed; null: none is, it has not."),
});

const backfillSchema = z.object({
  dry_run: z.boolean(),
  candidates: z.number().describe("Tool calls without content."),
  enqueued: z.number().describe("Jobs that were added; with dry_run, that would be."),
  queued: z.number().describe("Candidates whose job waits or runs."),
  failed: z.number().describe("Candidates whose job has failed for good."),
});

const retrySchema = z.object({
  task: z.string(),
  dry_run: z.boolean(),
  matched: z.number().describe("Dead jobs that the pattern matched."),
  retried: z.number().describe("Jobs that wait again; with dry_run, that would."),
  skipped: z.number().describe("Left as they are: a job of the same key waits or runs."),
});

const dryRun = z.boolean().default(false).describe("Only count.");

export function registerJobs(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/jobs",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "The state of every job queue and ticker",
        response: { 200: success(z.object({ queues: z.array(queueSchema) })) },
      },
    },
    async () => ok({ queues: [...(await app.queues.states())] }),
  );

  server.post(
    "/api/admin/jobs/:task/retry-failed",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Let dead jobs of a task wait again, as if they were new",
        params: z.object({ task: taskSchema }),
        body: z
          .strictObject({
            error: z
              .string()
              .min(1)
              .max(MAX_PATTERN)
              .optional()
              .describe("Only jobs whose error matches this regular expression, in any case."),
            dry_run: dryRun,
          })
          .nullish(),
        response: { 200: success(retrySchema) },
      },
    },
    async (request) => {
      const { task } = request.params;
      const { error, dry_run = false } = request.body ?? {};
      const options = { dryRun: dry_run, ...(error === undefined ? {} : { errorPattern: error }) };
      return ok({ task, dry_run, ...(await app.queues.retryFailed(task, options)) });
    },
  );

  server.post(
    "/api/admin/memory/backfill-tool-synth",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Queue a synthesis job for every tool call without content that has none",
        body: z.strictObject({ dry_run: dryRun }).nullish(),
        response: { 200: success(backfillSchema) },
      },
    },
    async (request, reply) => {
      const { dry_run = false } = request.body ?? {};
      const report = await app.queues.backfillToolSynth({ dryRun: dry_run, signal: clientGone(reply) });
      return ok({ dry_run, ...report });
    },
  );
}
