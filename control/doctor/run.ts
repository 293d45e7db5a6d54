/** Runs checks in parallel. None waits for another, and a failure of one does not stop the others. */

import { performance } from "node:perf_hooks";
import { type Check, type Outcome, Unavailable } from "./checks/check.ts";
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
  const results = await Promise.all(checks.map((check) => runCheck(check, context, { timeoutMs, signal })));
  signal.throwIfAborted();
  return {
    checks: results.map(({ report }) => report),
    repairs: results.flatMap(({ repairs }) => repairs),
    late: results.some(({ late }) => late),
  };
}

interface Result {
  readonly report: CheckReport;
  readonly repairs: readonly Planned[];
  readonly late: boolean;
}

async function runCheck(check: Check, context: ProbeContext, { timeoutMs, signal }: RunOptions): Promise<Result> {
  const began = performance.now();
  const deadline = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const giveUp = (): void => {
    deadline.abort();
    resolve("late");
  };
  const timer = setTimeout(giveUp, timeoutMs);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const answer = await Promise.race([outcomeOf(check, context, deadline.signal), late]);
    const outcome = answer === "late" ? tooLate(check, timeoutMs) : answer;
    const { repairs, ...said } = { repairs: [], ...outcome };
    return {
      report: { id: check.id, category: categoryOf(check), ...said, duration_ms: since(began) },
      repairs: repairs.map((repair) => ({ check: check.id, repair })),
      late: answer === "late",
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

async function outcomeOf(check: Check, context: ProbeContext, signal: AbortSignal): Promise<Outcome> {
  try {
    return await check.run(context, signal);
  } catch (error) {
    if (error instanceof Unavailable) return { status: "skip", message: error.message };
    const said = error instanceof Error ? error.message : String(error);
    return {
      status: "fail",
      message: `The check itself failed: ${said || "no reason was given"}`,
      fix: `Run \`cairn doctor --only ${check.id}\` again; when it fails again, report it as a bug, or leave it out with \`--skip ${check.id}\`.`,
    };
  }
}

function tooLate(check: Check, timeoutMs: number): Outcome {
  return {
    status: "fail",
    message: `Timed out after ${timeoutMs / 1_000} s.`,
    fix: `What it checks hangs or is slow (${check.subject}). Give it more time: \`cairn doctor --only ${check.id} --timeout 30\`.`,
  };
}

export function categoryOf({ id }: Pick<Check, "id">): Category {
  // The id's type begins with a category and a dot.
  return id.slice(0, id.indexOf(".")) as Category;
}

/** Milliseconds, to the tenth. */
function since(began: number): number {
  return Math.round((performance.now() - began) * 10) / 10;
}
