/** Plays schedule after schedule, and counts what they came to. */

import fc from "fast-check";
import type { Outcome } from "../../../control/rollout/fleet-steps.ts";
import { FAULTS, scheduleOf } from "./schedule.ts";
import { type Played, play } from "./simulation.ts";
import type { Mutant } from "./world.ts";

export interface Many {
  readonly seed: number;
  readonly count: number;
  /** The first schedule that broke something that must hold. */
  readonly broken: Played | null;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Schedules in which each kind of fault had an effect. */
  readonly met: Readonly<Record<string, number>>;
  readonly turns: number;
}

/** The first seed of a run: fast-check's, so that CI tries the same ones each time, and the nightly run others. */
export function firstSeed(): number {
  const asked = process.env["CAIRN_ROLLOUT_SEED"];
  const [seed = 0] = fc.sample(fc.nat({ max: 2_000_000_000 }), 1);
  return asked === undefined ? seed : Number(asked);
}

/** Until one breaks something, or `count` have not. */
export async function playMany(seed: number, count: number, mutant: Mutant | null = null): Promise<Many> {
  const outcomes: Record<Outcome, number> = { passed: 0, rolled_back: 0, paused: 0, operator: 0 };
  const met: Record<string, number> = Object.fromEntries(FAULTS.map((kind) => [kind, 0]));
  let turns = 0;
  for (let played = 0; played < count; played++) {
    const one = await play(scheduleOf(seed + played), mutant);
    turns += one.turns;
    for (const kind of one.met) met[kind] = (met[kind] ?? 0) + 1;
    for (const { end } of one.rollouts) if (end !== null) outcomes[end.outcome]++;
    if (one.violation !== null) return { seed, count: played + 1, broken: one, outcomes, met, turns };
  }
  return { seed, count, broken: null, outcomes, met, turns };
}

/** For the log of a run. */
export function describeMany({ seed, count, outcomes, turns }: Many): string {
  const ends = Object.entries(outcomes).map(([outcome, times]) => `${outcome} ${times}`);
  return `${count} schedules from seed ${seed}: ${ends.join(", ")}; ${turns} turns`;
}
