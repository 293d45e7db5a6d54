/** The shape of every check, and what it may find. One check a file: `checks/<category>/<name>.ts` has `<category>.<name>`. */

import type { ProbeContext } from "../context/probe-context.ts";
import type { Repair } from "../repair/repair.ts";
import type { Category } from "../report.ts";

export { TimedOut, Unavailable } from "../unavailable.ts";

export interface Check {
  /** Stable: monitoring refers to it. */
  readonly id: `${Category}.${string}`;
  /** What is checked, to be read after "Looks at". */
  readonly subject: string;
  /**
   * Looks and changes nothing. Whatever it throws becomes a failure of this check, except Unavailable, which becomes a
   * skip, and TimedOut. The signal aborts at the check's deadline; an outcome that comes later is ignored.
   */
  run(context: ProbeContext, signal: AbortSignal): Promise<Outcome>;
}

export type Outcome =
  | { readonly status: "pass"; readonly message: string; readonly detail?: string }
  | { readonly status: "skip"; readonly message: string }
  | Finding;

/** Something to be done about. */
export interface Finding {
  readonly status: "warn" | "fail";
  readonly message: string;
  /** What to do next, as sentences. */
  readonly fix: string;
  readonly detail?: string;
  /** What `--fix` would change to put it right; absent where a person has to decide. */
  readonly repairs?: readonly Repair[];
  /** Ids of checks: where one of these has a problem, this one follows from it and is no problem of its own. */
  readonly see?: readonly string[];
}

export function pass(message: string, details: readonly string[] = []): Outcome {
  return { status: "pass", message, ...detailOf(details) };
}

export function skip(message: string): Outcome {
  return { status: "skip", message };
}

type Rest = {
  readonly details?: readonly string[];
  readonly repairs?: readonly Repair[];
  readonly see?: readonly string[];
};

export function warn(message: string, fix: string, rest: Rest = {}): Outcome {
  return finding("warn", message, fix, rest);
}

export function fail(message: string, fix: string, rest: Rest = {}): Outcome {
  return finding("fail", message, fix, rest);
}

function finding(status: "warn" | "fail", message: string, fix: string, { details = [], repairs, see }: Rest): Outcome {
  return {
    status,
    message,
    fix,
    ...detailOf(details),
    ...(repairs?.length ? { repairs } : {}),
    ...(see ? { see } : {}),
  };
}

function detailOf(details: readonly string[]): { readonly detail?: string } {
  return details.length === 0 ? {} : { detail: details.join("\n") };
}
