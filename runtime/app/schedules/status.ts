/** What is to be said of a schedule. Pure. */

import type { ScheduleStatus } from "../../contracts/schedules.ts";
import { definitionOf, type Schedule } from "./schedule.ts";
import type { ScheduleRow } from "./store.ts";

/** A node sends what is due within seconds; after this, no node does. */
const LATE_MS = 5 * 60_000;

/** Without a row the schedule has not begun: no node that hosts the agent has run since it was written. */
export function statusOf(schedule: Schedule, row: ScheduleRow | undefined, now: number): ScheduleStatus {
  const { agent, name, cron, timezone, address, sends, enabled, plan } = schedule;
  const state = !enabled ? "disabled" : row?.paused ? "paused" : "active";
  const began = row?.definition === definitionOf(schedule) ? row.plannedAt : now;
  const next = state === "active" ? plan.next(began) : null;
  return {
    agent,
    name,
    cron,
    timezone,
    channel: sends ? address.channel : null,
    conversation: sends ? address.conversation : null,
    state,
    next_at: next === null ? null : new Date(next).toISOString(),
    last:
      row === undefined || row.runAt === null
        ? null
        : { turn_id: row.turnId, at: new Date(row.runAt).toISOString(), state: row.state, error: row.error },
    problem: problemOf(row, next, now),
  };
}

function problemOf(row: ScheduleRow | undefined, next: number | null, now: number): string | null {
  if (next !== null && now - next > LATE_MS) {
    return `it was due at ${new Date(next).toISOString()}, and no node that hosts the agent has started it`;
  }
  return row?.state === "failed" ? `its last run failed: ${row.error ?? "for a reason that is not recorded"}` : null;
}
