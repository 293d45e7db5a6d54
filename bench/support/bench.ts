/** What a benchmark is: a file `bench/<name>.bench.ts` that exports `bench`. `npm run bench -- <name>` runs it. */

import type { Stats } from "./stats.ts";

export interface Bench {
  /** One line: what is measured, and from where to where. */
  readonly about: string;
  run(context: BenchContext): Promise<void>;
}

export interface BenchContext {
  /** Fires when the run is interrupted. */
  readonly signal: AbortSignal;
  /** Value of `--<name> VALUE` on the command line. */
  option(name: string): string | undefined;
  /** Connection string of a new, empty database on a private PostgreSQL server, which the first call starts. */
  postgres(): Promise<string>;
  /** A new folder, removed at the end of the bench. */
  folder(): Promise<string>;
  /** Runs at the end of the bench, last one first, also after a failure: stop what was started. */
  defer(end: () => Promise<void> | void): void;
  /** Calls `once` `warmUp` times unmeasured, then `times` times; reports the milliseconds that each call took. */
  time(figure: TimedFigure, once: (n: number) => Promise<void>): Promise<Stats>;
  /** Compares two variants in one run, interleaved (A B A B): reports both, and the ratio of their medians. */
  compare(figure: TimedFigure, variants: Variants): Promise<void>;
  /** The load of the next figure counts from here; without a call, from the figure before. */
  begin(): void;
  /** Figures that are reported inside share the load since the last `begin`: they were measured in turns. */
  together(report: () => void): void;
  /** Reports samples that the bench took itself. */
  samples(figure: Figure, values: readonly number[]): Stats;
  /** Reports a single number: a rate, a size, a count. */
  value(figure: Figure, value: number): void;
}

export interface Figure {
  readonly name: string;
  /** "ms", "1/s", "MB", "x", ... */
  readonly unit: string;
  /** What the figure should be; the report says whether it was met. */
  readonly goal?: Goal;
}

export interface TimedFigure extends Omit<Figure, "unit"> {
  readonly times: number;
  readonly warmUp?: number;
}

/** A bound of one statistic; `value` for a single number. */
export interface Goal {
  readonly of: "value" | "p50" | "p95" | "p99" | "max";
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Variants {
  readonly a: Variant;
  readonly b: Variant;
}

export interface Variant {
  readonly name: string;
  readonly goal?: Goal;
  once(n: number): Promise<void>;
}
