/** Which checks `--only` and `--skip` leave. Pure. */

import { closest } from "fastest-levenshtein";
import { UsageError } from "../output/failure.ts";
import type { Check } from "./checks/check.ts";
import { GROUPS } from "./groups.ts";
import { CATEGORIES } from "./report.ts";
import { categoryOf } from "./run.ts";

export interface Selection {
  /** Ids, categories and groups; absent or empty: all. */
  readonly only?: readonly string[] | undefined;
  readonly skip?: readonly string[] | undefined;
}

/** UsageError, naming the nearest, for a name that is no check, category or group, and where no check is left. */
export function selectChecks(all: readonly Check[], { only = [], skip = [] }: Selection): readonly Check[] {
  refuseUnknown(all, only, "--only");
  refuseUnknown(all, skip, "--skip");
  const isNamed = (check: Check, names: readonly string[]): boolean =>
    names.some((name) => name === check.id || name === categoryOf(check) || GROUPS[name]?.includes(check.id));
  const selected = all.filter((check) => !isNamed(check, skip) && (only.length === 0 || isNamed(check, only)));
  // A report without any check must not look like a success.
  if (selected.length === 0)
    throw new UsageError("--skip excludes every check that --only names.", "Leave one of them.");
  return selected;
}

function refuseUnknown(all: readonly Check[], names: readonly string[], flag: string): void {
  const allowed: readonly string[] = [...CATEGORIES, ...Object.keys(GROUPS), ...all.map(({ id }) => id)];
  for (const name of names) {
    if (allowed.includes(name)) continue;
    throw new UsageError(
      `${flag}: there is no check, category or group \`${name}\`.`,
      `Did you mean \`${closest(name, allowed)}\`? \`cairn doctor --json\` lists all.`,
    );
  }
}
