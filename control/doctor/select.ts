/** Which checks `--only` and `--skip` leave. Pure. */

import { closest } from "fastest-levenshtein";
import { UsageError } from "../output/failure.ts";
import type { Check } from "./checks/check.ts";
import { CATEGORIES } from "./report.ts";
import { categoryOf } from "./run.ts";

export interface Selection {
  /** Ids and categories; absent or empty: all. */
  readonly only?: readonly string[] | undefined;
  readonly skip?: readonly string[] | undefined;
}

/** UsageError, naming the nearest, for a name that is no check and no category, and where no check is left. */
export function selectChecks(all: readonly Check[], { only = [], skip = [] }: Selection): readonly Check[] {
  refuseUnknown(all, only, "--only");
  refuseUnknown(all, skip, "--skip");
  const isNamed = (check: Check, names: readonly string[]): boolean =>
    names.includes(check.id) || names.includes(categoryOf(check));
  const left = all.filter((check) => !isNamed(check, skip) && (only.length === 0 || isNamed(check, only)));
  // Nothing that was looked at is no good news.
  if (left.length === 0) throw new UsageError("--skip takes away every check that --only names.", "Leave one of them.");
  return left;
}

function refuseUnknown(all: readonly Check[], names: readonly string[], flag: string): void {
  const known: readonly string[] = [...CATEGORIES, ...all.map(({ id }) => id)];
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new UsageError(
      `${flag}: there is no check and no category \`${name}\`.`,
      `Did you mean \`${closest(name, known)}\`? \`cairn doctor --json\` lists all.`,
    );
  }
}
