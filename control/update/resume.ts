/** How an interrupted update is resumed: decided by the files that exist, and by the journal where that is ambiguous. Pure. */

import { directionOf, type Serving } from "../rollout/steps.ts";
import type { JournalEntry } from "./journal.ts";

export interface Found {
  /** Which build `dist` leads to. `none`: it was cut off between its two renames. */
  readonly serving: Serving;
  /** Commit of the source tree. */
  readonly head: string;
}

export type Resumption =
  /** Nothing that runs was touched: what was prepared is removed, and the update begins anew. */
  | { readonly kind: "anew" }
  /** The new build serves: restart, gate and what follows are done again. */
  | { readonly kind: "forward" }
  /** The gate had failed, or going back had begun. */
  | { readonly kind: "back" }
  | { readonly kind: "operator"; readonly message: string };

export function decideResumption(journal: JournalEntry, found: Found): Resumption {
  if (found.head !== journal.from.commit && found.head !== journal.to.commit) {
    return {
      kind: "operator",
      message: `An update to ${journal.to.version} was interrupted, and the source tree has been changed by hand since.`,
    };
  }
  const direction = directionOf(journal.steps, found.serving);
  if (direction !== "unknown") return { kind: direction };
  return {
    kind: "operator",
    message: `An update to ${journal.to.version} was interrupted, and the installed program is neither the old nor the new one.`,
  };
}
