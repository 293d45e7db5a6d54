/** What everything in a simulated fleet shares: time, chance, the record of what happened, and what must never be seen. */

import { Random } from "./random.ts";
import type { Schedule } from "./schedule.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** Parts of the safety that a test takes out. */
export type Mutant = "fence" | "journal" | "gate" | "drain";

export class Violation extends Error {}

export class World {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly schedule: Schedule;
  readonly mutant: Mutant | null;
  /** Faults that had an effect. */
  readonly met = new Set<string>();
  readonly events: string[] = [];
  violation: Violation | null = null;
  /** Set once everything that was cut off is connected again, for good. */
  healed = false;

  constructor(schedule: Schedule, mutant: Mutant | null) {
    this.schedule = schedule;
    this.mutant = mutant;
    this.random = new Random(schedule.seed ^ 0x5eed);
  }

  log(text: string): void {
    this.events.push(`${(this.clock.time / 1_000).toFixed(2).padStart(9)} s  ${text}`);
  }

  /** The first one counts; the simulation ends there. */
  violate(text: string): void {
    this.log(`VIOLATION ${text}`);
    this.violation ??= new Violation(text);
  }

  /** Whether something that lasts `ms` from `at` on is under way. */
  isDuring(at: number, ms: number): boolean {
    return !this.healed && this.clock.time >= at && this.clock.time < at + ms;
  }

  faults<K extends Schedule["faults"][number]["kind"]>(
    kind: K,
  ): Extract<Schedule["faults"][number], { readonly kind: K }>[] {
    return this.schedule.faults.filter((one): one is Extract<typeof one, { readonly kind: K }> => one.kind === kind);
  }
}
