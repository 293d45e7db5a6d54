/** Collects what is found in a script, each reason once. */

import type { Finding } from "./inspection.ts";

export interface Findings {
  note(action: Finding["action"], reason: string): void;
  /** Questions that come up during `work` do not count. */
  certain(work: () => void): void;
  list(): readonly Finding[];
}

export function createFindings(): Findings {
  const findings = new Map<string, Finding>();
  let certainOnly = 0;
  return {
    note(action, reason) {
      if (action === "ask" && certainOnly > 0) return;
      if (!findings.has(reason)) findings.set(reason, { action, reason });
    },
    certain(work) {
      certainOnly += 1;
      try {
        work();
      } finally {
        certainOnly -= 1;
      }
    },
    list: () => [...findings.values()],
  };
}
