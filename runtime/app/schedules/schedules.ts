/**
 * Turns that start by the clock. The node that hosts an agent sends its due prompts into the inbox, as messages of the owner; a run's
 * key is its planned time, so that a second node that does the same starts nothing. Of runs that were missed the newest is made up for.
 */

import { CairnError, RuntimeError } from "../../contracts/errors.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import type { ScheduleRun, ScheduleStatus } from "../../contracts/schedules.ts";
import { isAhead } from "../../domain/clock-skew.ts";
import type { Schedules, Turns } from "../api.ts";
import type { Placement } from "../turn/placement.ts";
import { definitionOf, messageOf, type Schedule } from "./schedule.ts";
import { statusOf } from "./status.ts";
import type { ScheduleRow, ScheduleStore, StartedRun } from "./store.ts";

export interface SchedulesDeps {
  readonly schedules: readonly Schedule[];
  readonly store: ScheduleStore;
  readonly turns: Pick<Turns, "accept">;
  readonly placement: Pick<Placement, "hosted">;
  /** While it is true, other nodes start them. */
  isDraining(): boolean;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

export class ScheduledTurns implements Schedules {
  readonly #deps: SchedulesDeps;
  /** Agents of this node whose removed schedules are deleted. */
  readonly #pruned = new Set<string>();

  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
  }

  /** Starts what is due of the agents that this node hosts. One that fails does not keep the others from it. */
  async tick(signal: AbortSignal): Promise<void> {
    const { schedules, store, placement, isDraining } = this.#deps;
    if (isDraining()) return;
    const hosted = placement.hosted();
    await this.#prune(hosted);
    const mine = schedules.filter(({ agent }) => hosted.includes(agent));
    if (mine.length === 0) return;
    await store.keepOutcomes(hosted);
    const rows = await store.read(hosted);
    const failures: unknown[] = [];
    for (const schedule of mine) {
      signal.throwIfAborted();
      try {
        await this.#advance(schedule, rows.find(isOf(schedule)));
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async list(): Promise<readonly ScheduleStatus[]> {
    const { schedules, store } = this.#deps;
    const rows = await store.read([...new Set(schedules.map(({ agent }) => agent))]);
    const now = this.#now();
    return schedules.map((schedule) => statusOf(schedule, rows.find(isOf(schedule)), now));
  }

  async run(agent: string, name: string): Promise<ScheduleRun> {
    const { store, newId } = this.#deps;
    const schedule = this.#find(agent, name);
    await store.ensure(schedule, this.#now());
    const waiting = await store.waitingTurn(schedule);
    const { turnId } =
      waiting === undefined
        ? await this.#deps.turns.accept(messageOf(schedule, `run:${newId()}`))
        : { turnId: waiting };
    await store.note(schedule, { turnId }, this.#now());
    return { agent, name, turn_id: turnId, started: waiting === undefined };
  }

  async pause(agent: string, name: string): Promise<ScheduleStatus> {
    const schedule = this.#find(agent, name);
    await this.#deps.store.ensure(schedule, this.#now());
    await this.#deps.store.pause(schedule, this.#now());
    return this.#status(schedule);
  }

  async resume(agent: string, name: string): Promise<ScheduleStatus> {
    const schedule = this.#find(agent, name);
    await this.#deps.store.resume(schedule, this.#now());
    return this.#status(schedule);
  }

  async #advance(schedule: Schedule, row: ScheduleRow | undefined): Promise<void> {
    const { store, logger } = this.#deps;
    const now = this.#now();
    if (row?.definition !== definitionOf(schedule)) return store.begin(schedule, now);
    if (!schedule.enabled || row.paused) return;
    // The clock was set back. What has been started for a time that comes again is found in the inbox, and is not started twice.
    if (isAhead(row.plannedAt, now)) return store.setBack(schedule, now);
    const due = schedule.plan.latest(row.plannedAt, now);
    if (due === null) return;
    const planned = new Date(due).toISOString();
    const run = await this.#start(schedule, planned);
    // Behind the message: a process that dies in between sends the same one again, which the inbox has.
    await store.advance(schedule, due, run, now);
    logger.info({ agent: schedule.agent, schedule: schedule.name, planned, turnId: run.turnId }, "a schedule came due");
  }

  async #start(schedule: Schedule, run: string): Promise<StartedRun> {
    const { store, turns, logger } = this.#deps;
    const waiting = await store.waitingTurn(schedule);
    if (waiting !== undefined) return { turnId: waiting };
    try {
      return { turnId: (await turns.accept(messageOf(schedule, run))).turnId };
    } catch (error) {
      if (!(error instanceof CairnError) || error.retryable) throw error;
      // Another node has started it, with a prompt of another configuration.
      const { turnId } = error.details;
      if (error.code === "RUNTIME_CONFLICT" && turnId !== undefined) return { turnId };
      logger.error({ err: error, agent: schedule.agent, schedule: schedule.name }, "a schedule could not be started");
      return { turnId: null, error: error.message };
    }
  }

  async #prune(hosted: readonly string[]): Promise<void> {
    const { schedules, store } = this.#deps;
    for (const agent of hosted) {
      if (this.#pruned.has(agent)) continue;
      await store.keepOnly(
        agent,
        schedules.filter((one) => one.agent === agent).map(({ name }) => name),
      );
      this.#pruned.add(agent);
    }
  }

  async #status(schedule: Schedule): Promise<ScheduleStatus> {
    const rows = await this.#deps.store.read([schedule.agent]);
    return statusOf(schedule, rows.find(isOf(schedule)), this.#now());
  }

  #find(agent: string, name: string): Schedule {
    const { schedules } = this.#deps;
    const found = schedules.find(isOf({ agent, name }));
    if (found !== undefined) return found;
    const names = schedules.filter((one) => one.agent === agent).map((one) => one.name);
    throw new RuntimeError("RUNTIME_NOT_FOUND", `The agent "${agent}" has no schedule "${name}".`, {
      hint: names.length > 0 ? `Schedules: ${names.join(", ")}.` : "`cairn schedule list` shows those that there are.",
    });
  }

  #now(): number {
    return this.#deps.clock.now().getTime();
  }
}

function isOf({ agent, name }: { readonly agent: string; readonly name: string }) {
  return (other: { readonly agent: string; readonly name: string }) => other.agent === agent && other.name === name;
}
