/** How far schedules have come, in the database that the nodes share. */

import type { Database } from "../../contracts/database.ts";
import type { RunState } from "../../contracts/schedules.ts";
import { definitionOf, keyPrefix, type Schedule } from "./schedule.ts";

/** Times are milliseconds of the epoch. */
export interface ScheduleRow {
  readonly agent: string;
  readonly name: string;
  readonly definition: string;
  readonly plannedAt: number;
  readonly paused: boolean;
  readonly turnId: string | null;
  readonly runAt: number | null;
  /** Null: the turn is not there any more. */
  readonly state: RunState | null;
  readonly error: string | null;
}

export interface StartedRun {
  /** Null: it could not be started, for `error`. */
  readonly turnId: string | null;
  readonly error?: string;
}

export type ScheduleStore = ReturnType<typeof createScheduleStore>;

export function createScheduleStore(database: Pick<Database, "query">) {
  return {
    async read(agents: readonly string[]): Promise<readonly ScheduleRow[]> {
      const { rows } = await database.query<SqlRow>(
        `/* schedule:read */ select s.agent, s.name, definition, planned_at, paused_at is not null as paused, turn_id, run_at,
           coalesce(outcome, t.state) as state, coalesce(s.error, t.error->>'message') as error
         from schedules s left join turns t on t.id = s.turn_id where s.agent = any($1::text[])`,
        [agents],
      );
      return rows.map(toRow);
    },
    /** Those that are new, or planned otherwise than before, begin at the given time. */
    async begin(schedule: Schedule, at: number): Promise<void> {
      await database.query(
        `/* schedule:begin */ insert into schedules (agent, name, definition, planned_at) values ($1, $2, $3, $4)
         on conflict (agent, name) do update set definition = excluded.definition, planned_at = excluded.planned_at
         where schedules.definition <> excluded.definition`,
        [schedule.agent, schedule.name, definitionOf(schedule), new Date(at)],
      );
    },
    /** One that nobody has begun yet begins now. */
    async ensure(schedule: Schedule, at: number): Promise<void> {
      await database.query(
        `/* schedule:ensure */ insert into schedules (agent, name, definition, planned_at) values ($1, $2, $3, $4)
         on conflict (agent, name) do nothing`,
        [schedule.agent, schedule.name, definitionOf(schedule), new Date(at)],
      );
    },
    /** What is planned from the given time on is not done with. */
    async setBack({ agent, name }: Schedule, at: number): Promise<void> {
      await database.query(
        "/* schedule:set-back */ update schedules set planned_at = $3 where agent = $1 and name = $2 and planned_at > $3",
        [agent, name, new Date(at)],
      );
    },
    /** The planned time is done with, by this run. */
    async advance({ agent, name }: Schedule, plannedAt: number, run: StartedRun, at: number): Promise<void> {
      await database.query(
        `/* schedule:advance */ update schedules set planned_at = $6, ${RUN}
         where agent = $1 and name = $2 and planned_at < $6`,
        [agent, name, run.turnId, new Date(at), run.error ?? null, new Date(plannedAt)],
      );
    },
    /** A run beside the plan. */
    async note({ agent, name }: Schedule, run: StartedRun, at: number): Promise<void> {
      await database.query(`/* schedule:note */ update schedules set ${RUN} where agent = $1 and name = $2`, [
        agent,
        name,
        run.turnId,
        new Date(at),
        run.error ?? null,
      ]);
    },
    async pause({ agent, name }: Schedule, at: number): Promise<void> {
      await database.query(
        "/* schedule:pause */ update schedules set paused_at = $3 where agent = $1 and name = $2 and paused_at is null",
        [agent, name, new Date(at)],
      );
    },
    /** What was planned meanwhile is done with. */
    async resume({ agent, name }: Schedule, at: number): Promise<void> {
      await database.query(
        `/* schedule:resume */ update schedules set paused_at = null, planned_at = $3
         where agent = $1 and name = $2 and paused_at is not null`,
        [agent, name, new Date(at)],
      );
    },
    /** What became of turns that have ended, before they are deleted. */
    async keepOutcomes(agents: readonly string[]): Promise<void> {
      await database.query(
        `/* schedule:outcomes */ update schedules s set outcome = t.state, error = t.error->>'message'
         from turns t where t.id = s.turn_id and s.outcome is null and t.state in ('done', 'failed', 'aborted')
           and s.agent = any($1::text[])`,
        [agents],
      );
    },
    /** Those of the agent that have other names are no schedules any more. */
    async keepOnly(agent: string, names: readonly string[]): Promise<void> {
      await database.query("/* schedule:prune */ delete from schedules where agent = $1 and name <> all($2::text[])", [
        agent,
        names,
      ]);
    },
    /** The turn of a run that has not begun yet; undefined: none waits. */
    async waitingTurn(schedule: Schedule): Promise<string | undefined> {
      const { address, agent } = schedule;
      const { rows } = await database.query<{ readonly id: string }>(
        `/* schedule:waiting */ select t.id from inbox i join turns t on t.inbox_id = i.id
         where i.channel = $1 and i.agent = $2 and i.conversation = $3 and starts_with(i.external_id, $4)
           and i.done_at is null and t.state = 'queued' and t.attempt = 0 limit 1`,
        [address.channel, agent, address.conversation, keyPrefix(schedule)],
      );
      return rows[0]?.id;
    },
  };
}

/** The columns of the newest run, from the parameters $3 to $5. */
const RUN = `turn_id = $3::uuid, run_at = case when turn_id = $3::uuid then run_at else $4::timestamptz end, error = $5::text,
  outcome = case when $5::text is not null then 'failed' when turn_id = $3::uuid then outcome end`;

interface SqlRow {
  readonly agent: string;
  readonly name: string;
  readonly definition: string;
  readonly planned_at: Date;
  readonly paused: boolean;
  readonly turn_id: string | null;
  readonly run_at: Date | null;
  readonly state: RunState | null;
  readonly error: string | null;
}

function toRow({ planned_at, turn_id, run_at, ...row }: SqlRow): ScheduleRow {
  return { ...row, plannedAt: planned_at.getTime(), turnId: turn_id, runAt: run_at?.getTime() ?? null };
}
