/** An edit of the configuration in words: the diff, and what is left to do. */

import type { Mark } from "./terminal.ts";

interface Rendered {
  readonly changed: boolean;
  readonly diff: string;
  readonly missing: readonly string[];
}

export function renderEdit(edit: Rendered, done: string, mark: Mark, dryRun: boolean): string {
  if (!edit.changed) return "Nothing to change: the configuration says that already.";
  const missing = edit.missing.map((name) => `${mark.warn("Note:")} ${name} is not set: write it into .env.`);
  const next = dryRun
    ? "Nothing was written (--dry-run)."
    : `${mark.good(done)} ${mark.dim("It counts from the next `cairn restart` on.")}`;
  return [colouredDiff(edit.diff, mark), next, ...missing].join("\n");
}

export function colouredDiff(diff: string, mark: Mark): string {
  return diff
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.startsWith("---") || line.startsWith("+++") || line.startsWith("@@")) return mark.dim(line);
      if (line.startsWith("+")) return mark.good(line);
      return line.startsWith("-") ? mark.error(line) : line;
    })
    .join("\n");
}
