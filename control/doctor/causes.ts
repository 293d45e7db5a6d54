/** One cause is one problem: what follows from a problem, and checks that were late together, are reported below it. Pure. */

import type { Outcome } from "./checks/check.ts";

/** What a check has said. `see`: ids of the checks that may report the reason. */
export type Answered = { readonly id: string; readonly see: readonly string[] } & (
  | { readonly late: false; readonly outcome: Outcome }
  | { readonly late: true }
);

export interface Attributed {
  readonly outcome: Outcome;
  /** The problem that keeps this check from being done, or that it repeats. */
  readonly followsFrom?: string;
}

export interface Lateness {
  /** Seconds that each check had. */
  readonly seconds: number;
  /** Runnable processes for each processor. */
  readonly load: number;
  /** What a check looks at, by its id. */
  readonly subjectOf: (id: string) => string;
}

/** Where several checks are late, the one that others wait for reports it. */
const AWAITED = ["config.present", "deployment.node", "database.reachable"];
/** Above this the machine itself is the likely reason. */
const BUSY = 2;

/** In the order of the results. */
export function attributeCauses(results: readonly Answered[], lateness: Lateness): readonly Attributed[] {
  const byId = new Map(results.map((result) => [result.id, result]));

  /** The problem that a check's reason leads to; null where none of the checks that it names has one. */
  const causeOf = ({ id, see }: Answered, path: readonly string[] = []): string | null => {
    for (const next of see) {
      const result = byId.get(next);
      if (result === undefined || next === id || path.includes(next)) continue;
      const further = causeOf(result, [...path, id]);
      if (further !== null) return further;
      if (result.late || result.outcome.status === "fail" || result.outcome.status === "warn") return next;
    }
    return null;
  };

  const late = results.filter((result) => result.late && causeOf(result) === null).map(({ id }) => id);
  const [first = ""] = late;
  const primary = AWAITED.find((id) => late.includes(id)) ?? first;

  return results.map((result): Attributed => {
    const cause = causeOf(result);
    if (result.late) {
      if (result.id === primary && cause === null) return { outcome: tooLate(late, primary, lateness) };
      const followsFrom = cause ?? primary;
      return { outcome: { status: "skip", message: `Not done in time (see ${followsFrom}).` }, followsFrom };
    }
    if (cause === null) return { outcome: result.outcome };
    if (result.outcome.status === "skip") return { outcome: result.outcome, followsFrom: cause };
    if (result.outcome.status === "pass") return { outcome: result.outcome };
    const message = `${result.outcome.message.replace(/[.]$/, "")} (see ${cause}).`;
    return { outcome: { status: "skip", message }, followsFrom: cause };
  });
}

/** One statement for all that were late. */
function tooLate(ids: readonly string[], primary: string, { seconds, load, subjectOf }: Lateness): Outcome {
  const busy = load > BUSY ? ` This machine is busy: ${Math.round(load)} processes wait for each processor.` : "";
  const others = ids.filter((id) => id !== primary);
  const again = `\`cairn doctor --only ${ids.join(",")} --timeout ${Math.max(30, Math.ceil(seconds) * 2)}\``;
  if (others.length === 0) {
    return {
      status: "fail",
      message: `Timed out after ${seconds} s.${busy}`,
      fix: `What it checks hangs or is slow (${subjectOf(primary)}). Give it more time: ${again}.`,
    };
  }
  return {
    status: "fail",
    message: `${ids.length} checks timed out after ${seconds} s, this one among them.${busy}`,
    fix: `Something hangs or is slow (${subjectOf(primary)}). Give them more time: ${again}.`,
  };
}
