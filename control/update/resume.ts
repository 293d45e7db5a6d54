/** How an update goes on that was cut off: decided by what is there, and by the journal where that leaves a choice. Pure. */

import { type JournalEntry, stateOf } from "./journal.ts";

export interface Found {
  /** Which build `dist` leads to. `none`: it was cut off between its two renames. */
  readonly serving: "former" | "new" | "none" | "other";
  /** Commit of the source tree. */
  readonly head: string;
}

export type Resumption =
  /** Nothing that runs was touched: what was prepared is thrown away, and the update begins anew. */
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
      message: `An update to ${journal.to.version} was cut off, and the source tree has been moved by hand since.`,
    };
  }
  const goingBack = stateOf(journal, "back") !== null || stateOf(journal, "gate") === "failed";
  switch (found.serving) {
    case "none":
      return goingBack ? { kind: "back" } : { kind: "anew" };
    case "former":
      return goingBack ? { kind: "back" } : { kind: "anew" };
    case "new":
      return goingBack || stateOf(journal, "restart") === "failed" ? { kind: "back" } : { kind: "forward" };
    case "other":
      return {
        kind: "operator",
        message: `An update to ${journal.to.version} was cut off, and the program that serves is neither the old nor the new one.`,
      };
  }
}
