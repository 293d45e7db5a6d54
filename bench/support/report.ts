/** Collects the figures of benches, each with the machine's load beside it. */

import type { Figure, Goal } from "./bench.ts";
import { type Load, watchLoad } from "./load.ts";
import { type Stats, stats } from "./stats.ts";

export interface ReportedFigure {
  readonly bench: string;
  readonly figure: string;
  readonly unit: string;
  readonly value?: number;
  readonly stats?: Stats;
  readonly goal?: Goal;
  readonly met?: boolean;
  readonly load: Load;
}

export class Report {
  readonly figures: ReportedFigure[] = [];
  readonly #bench: string;
  #load = watchLoad();
  #shared = false;

  constructor(bench: string) {
    this.#bench = bench;
  }

  /** The load of the next figure counts from here; without a call, from the figure before. */
  begin(): void {
    this.#load = watchLoad();
  }

  /** Figures that are added inside share one load: that since the last `begin`. */
  together(add: () => void): void {
    const load = this.#load();
    this.#load = () => load;
    this.#shared = true;
    add();
    this.#shared = false;
    this.begin();
  }

  samples(figure: Figure, values: readonly number[]): Stats {
    const result = rounded(stats(values));
    this.#add(figure, { stats: result }, figure.goal && isMet(figure.goal, result[statistic(figure.goal)]));
    return result;
  }

  value(figure: Figure, value: number): void {
    this.#add(figure, { value: round(value) }, figure.goal && isMet(figure.goal, value));
  }

  #add(figure: Figure, result: { value: number } | { stats: Stats }, met: boolean | undefined): void {
    const entries = "value" in result ? result.value : `p50 ${result.stats.p50}, p95 ${result.stats.p95}`;
    // A long bench tells what it has found so far.
    process.stderr.write(`  = ${figure.name}: ${entries} ${figure.unit}\n`);
    this.figures.push({
      bench: this.#bench,
      figure: figure.name,
      unit: figure.unit,
      ...result,
      ...(figure.goal === undefined ? {} : { goal: figure.goal }),
      ...(met === undefined ? {} : { met }),
      load: this.#load(),
    });
    if (!this.#shared) this.begin();
  }
}

function statistic(goal: Goal): "p50" | "p95" | "p99" | "max" {
  return goal.of === "value" ? "p50" : goal.of;
}

function isMet(goal: Goal, value: number): boolean {
  return value <= (goal.atMost ?? Number.POSITIVE_INFINITY) && value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY);
}

function rounded(result: Stats): Stats {
  const { n, min, p50, p95, p99, max } = result;
  return { n, min: round(min), p50: round(p50), p95: round(p95), p99: round(p99), max: round(max) };
}

/** Four significant digits: more is noise. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}
