/** Results of the commands about schedules. */

import { z } from "zod";
import { time } from "./parts.ts";

const schedule = z.looseObject({
  agent: z.string(),
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  channel: z.string().nullable().describe("That the reply is sent to; null: it is stored only"),
  conversation: z.string().nullable(),
  state: z.enum(["active", "paused", "disabled"]),
  next_at: time.nullable().describe("Null while it is paused or disabled"),
  last: z
    .looseObject({
      turn_id: z.string().nullable().describe("Null for one that could not be started"),
      at: time,
      state: z
        .enum(["queued", "running", "waiting", "done", "failed", "aborted"])
        .nullable()
        .describe("Null where its turn was deleted before its end was recorded"),
      error: z.string().nullable(),
    })
    .nullable()
    .describe("The newest run; null: there was none"),
  problem: z.string().nullable().describe("What somebody should see to; null: nothing"),
});

export const SCHEDULE_SCHEMAS = {
  "schedule-list": z.strictObject({ schedules: z.array(schedule) }),
  "schedule-run": z.looseObject({
    agent: z.string(),
    name: z.string(),
    turn_id: z.string(),
    started: z.boolean().describe("False: an earlier run still waits for its session, and this is that one"),
  }),
  "schedule-pause": schedule,
  "schedule-resume": schedule,
} as const;
