/** Scheduled turns, for an operator: what they are, a run by hand, a pause and its end. */

import { z } from "zod";
import { RUN_STATES, SCHEDULE_STATES } from "../contracts/schedules.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const statusSchema = z.object({
  agent: z.string(),
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  channel: z.string().nullable().describe("That the reply is sent to; null: it is stored only."),
  conversation: z.string().nullable(),
  state: z.enum(SCHEDULE_STATES).describe("`disabled`: by cairn.yaml; `paused`: until it is resumed."),
  next_at: z.string().nullable().describe("Null while it is paused or disabled."),
  last: z
    .object({
      turn_id: z.string().nullable().describe("Null for one that could not be started."),
      at: z.string(),
      state: z.enum(RUN_STATES).nullable().describe("Null where its turn was deleted before its end was recorded."),
      error: z.string().nullable(),
    })
    .nullable()
    .describe("The newest run; null: there was none."),
  problem: z.string().nullable().describe("What somebody should see to; null: nothing."),
});

const params = z.object({ agent: z.string().max(100), name: z.string().max(100) });

export function registerSchedules(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/schedules",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "The schedules of all agents: next run, last run and its outcome",
        response: { 200: success(z.object({ schedules: z.array(statusSchema) })) },
      },
    },
    async () => ok({ schedules: [...(await app.schedules.list())] }),
  );

  server.post(
    "/api/admin/schedules/:agent/:name/run",
    {
      config: { access: "admin", audit: "schedule.run" },
      schema: {
        tags: ["admin"],
        summary: "Start a run now, beside the plan",
        description:
          "The turn is accepted when it is answered, and is followed by its id. Where an earlier run of the schedule still waits " +
          "for its session, the answer names that one, and `started` is false.",
        params,
        response: {
          200: success(z.object({ agent: z.string(), name: z.string(), turn_id: z.string(), started: z.boolean() })),
          404: errorSchema,
        },
      },
    },
    async (request) => {
      const { agent, name } = request.params;
      request.auditDetails = { agent, name };
      return ok(await app.schedules.run(agent, name));
    },
  );

  for (const [action, audit, summary] of [
    ["pause", "schedule.paused", "Start no runs by the plan, on any node, until it is resumed"],
    ["resume", "schedule.resumed", "End a pause; what was planned meanwhile is not made up for"],
  ] as const) {
    server.post(
      `/api/admin/schedules/:agent/:name/${action}`,
      {
        config: { access: "admin", audit },
        schema: {
          tags: ["admin"],
          summary,
          params,
          response: { 200: success(statusSchema), 404: errorSchema },
        },
      },
      async (request) => {
        const { agent, name } = request.params;
        request.auditDetails = { agent, name };
        return ok(await app.schedules[action](agent, name));
      },
    );
  }
}
