/** Runs checks in parallel. None waits for another, and a failure of one does not stop the others. */

import { performance } from "node:perf_hooks";
import { type Answered, type Attributed, attributeCauses } from "./causes.ts";
import { type Check, TimedOut, Unavailable } from "./checks/check.ts";
import type { ProbeContext } from "./context/probe-context.ts";
import type { Planned } from "./repair/repair.ts";
import type { Category, CheckReport } from "./report.ts";

export interface RunOptions {
  /** Milliseconds for each check. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Results {
  /** In the order of the checks. */
  readonly checks: readonly CheckReport[];
  readonly repairs: readonly Planned[];
  /** True when a check was not done at its deadline: something of it may still be waiting in this process. */
  readonly late: boolean;
}

export async function runChecks(
  checks: readonly Check[],
  context: ProbeContext,
  { timeoutMs, signal }: RunOptions,
): Promise<Results> {
  const done = await Promise.all(
    checks.map(async (check) => {
      const began = performance.now();
      const said = await runCheck(check, context, { timeoutMs, signal });
      return { check, said, took: since(began) };
    }),
  );
  signal.throwIfAborted();
  const attributed = attributeCauses(
    done.map(({ said }) => said),
    {
      seconds: timeoutMs / 1_000,
      load: context.machine.load(),
      subjectOf: (id) => checks.find((check) => check.id === id)?.subject ?? id,
    },
  );
  const reports = done.flatMap(({ check, took }, index) => {
    const outcome = attributed[index];
    return outcome === undefined ? [] : [reportOf(check, outcome, took)];
  });
  return {
    checks: reports.map(({ report }) => report),
    repairs: reports.flatMap(({ repairs }) => repairs),
    late: done.some(({ said }) => said.late),
  };
}

interface Reported {
  readonly report: CheckReport;
  readonly repairs: readonly Planned[];
}

function reportOf(check: Check, { outcome, followsFrom }: Attributed, took: number): Reported {
  const { repairs, see: _, ...said } = { repairs: [], see: [], ...outcome };
  const follows = followsFrom === undefined ? {} : { follows_from: followsFrom };
  return {
    report: { id: check.id, category: categoryOf(check), ...said, ...follows, duration_ms: took },
    repairs: repairs.map((repair) => ({ check: check.id, repair })),
  };
}

async function runCheck(check: Check, context: ProbeContext, { timeoutMs, signal }: RunOptions): Promise<Answered> {
  const deadline = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<Answered>();
  const giveUp = (): void => {
    deadline.abort();
    resolve({ id: check.id, late: true, see: [] });
  };
  const timer = setTimeout(giveUp, timeoutMs);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([outcomeOf(check, context, deadline.signal), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

async function outcomeOf(check: Check, context: ProbeContext, signal: AbortSignal): Promise<Answered> {
  const { id } = check;
  try {
    const outcome = await check.run(context, signal);
    return { id, late: false, outcome, see: "see" in outcome && outcome.see !== undefined ? outcome.see : [] };
  } catch (error) {
    if (error instanceof TimedOut) return { id, late: true, see: [error.see] };
    if (error instanceof Unavailable) {
      return { id, late: false, outcome: { status: "skip", message: error.message }, see: error.see };
    }
    const said = error instanceof Error ? error.message : String(error);
    const outcome = {
      status: "fail",
      message: `The check itself failed: ${said || "no reason was given"}`,
      fix: `Run \`cairn doctor --only ${id}\` again; when it fails again, report it as a bug, or leave it out with \`--skip ${id}\`.`,
    } as const;
    return { id, late: false, outcome, see: [] };
  }
}

export function categoryOf({ id }: Pick<Check, "id">): Category {
  // The id's type begins with a category and a dot.
  return id.slice(0, id.indexOf(".")) as Category;
}

/** Milliseconds, to the tenth. */
function since(began: number): number {
  return Math.round((performance.now() - began) * 10) / 10;
}
