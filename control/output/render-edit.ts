/** An edit of the configuration in words: the diff, and what is left to do. */

import type { Mark } from "./terminal.ts";
import { visible } from "./visible.ts";

export interface RenderedEdit {
  readonly changed: boolean;
  readonly diff: string;
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
  readonly missing: readonly string[];
}

/** `apply`: the command that makes it count, in backticks. */
export function renderEdit(
  edit: RenderedEdit,
  done: string,
  mark: Mark,
  { dryRun, apply }: { readonly dryRun: boolean; readonly apply: string },
): string {
  if (!edit.changed) return "Nothing to change: the configuration says that already.";
  const missing = edit.missing.map((name) => `${mark.warn("Note:")} ${name} is not set: write it into .env.`);
  const next = dryRun
    ? "Nothing was written (--dry-run)."
    : `${mark.good(done)} ${mark.dim(`It counts from the next ${apply} on.`)}`;
  const warnings = edit.warnings.map(({ path, message }) => `${mark.warn("Note:")} ${path}: ${message}`);
  return [colouredDiff(edit.diff, mark), next, ...missing, ...warnings].join("\n");
}

export function colouredDiff(diff: string, mark: Mark): string {
  return visible(diff)
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.startsWith("---") || line.startsWith("+++") || line.startsWith("@@")) return mark.dim(line);
      if (line.startsWith("+")) return mark.good(line);
      return line.startsWith("-") ? mark.error(line) : line;
    })
    .join("\n");
}
