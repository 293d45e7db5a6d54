/** The routes over schedules as functions. */

import type { ScheduleRun, ScheduleStatus } from "../contracts/schedules.ts";
import { type Connection, call } from "./http.ts";
import type { CallOptions } from "./types.ts";

/** RUNTIME_NOT_FOUND where the agent has no such schedule. */
export interface ScheduleCalls {
  schedules(options?: CallOptions): Promise<readonly ScheduleStatus[]>;
  runSchedule(agent: string, name: string, options?: CallOptions): Promise<ScheduleRun>;
  pauseSchedule(agent: string, name: string, options?: CallOptions): Promise<ScheduleStatus>;
  resumeSchedule(agent: string, name: string, options?: CallOptions): Promise<ScheduleStatus>;
}

export function scheduleCalls(connection: Connection): ScheduleCalls {
  const post = <Result>(agent: string, name: string, action: string, given?: CallOptions) => {
    const path = `/api/admin/schedules/${encodeURIComponent(agent)}/${encodeURIComponent(name)}/${action}`;
    return call<Result>(connection, path, { method: "POST", ...given });
  };
  return {
    schedules: async (given) =>
      (await call<{ schedules: readonly ScheduleStatus[] }>(connection, "/api/admin/schedules", given)).schedules,
    runSchedule: (agent, name, given) => post<ScheduleRun>(agent, name, "run", given),
    pauseSchedule: (agent, name, given) => post<ScheduleStatus>(agent, name, "pause", given),
    resumeSchedule: (agent, name, given) => post<ScheduleStatus>(agent, name, "resume", given),
  };
}
