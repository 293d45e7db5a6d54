/** Schedules as a table. */

import type { ScheduleStatus } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export function renderSchedules(schedules: readonly ScheduleStatus[], mark: Mark): string {
  if (schedules.length === 0) {
    return "No agent has a schedule. One is written under agents.<name>.schedules in cairn.yaml.";
  }
  const head = ["agent", "name", "cron", "timezone", "next run", "last run", "outcome", "turn"].map((name) =>
    mark.dim(name),
  );
  const rows = schedules.map(({ agent, name, cron, timezone, state, next_at: next, last }) => [
    visible(agent),
    mark.name(visible(name)),
    visible(cron),
    visible(timezone),
    next === null ? mark.warn(state) : timeIn(next, timezone),
    last === null ? "-" : timeIn(last.at, timezone),
    last === null ? "-" : outcome(last, mark),
    visible(last?.turn_id ?? "-"),
  ]);
  const problems = schedules.flatMap(({ agent, name, problem }) =>
    problem === null ? [] : [`${mark.warn(visible(`${agent}/${name}`))}: ${visible(problem)}`],
  );
  return [columns([head, ...rows]), ...(problems.length > 0 ? ["", ...problems] : [])].join("\n");
}

/** What its clock shows, which is what the cron expression is about; the instant itself for a zone that this machine lacks. */
export function timeIn(at: string, timeZone: string): string {
  try {
    return new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  } catch {
    return visible(at);
  }
}

function outcome({ state }: NonNullable<ScheduleStatus["last"]>, mark: Mark): string {
  if (state === "done") return mark.good(state);
  return state === "failed" ? mark.error(state) : (state ?? "unknown");
}
