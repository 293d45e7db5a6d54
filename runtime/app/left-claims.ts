import type { Logger } from "../contracts/ports.ts";

/**
 * Claims that a run could not give back because the store was away. They are given back before the next run of this
 * process, so that nothing waits for the end of a lease whose holder is long gone. Those of other processes are theirs.
 */

export interface LeftClaims {
  /** Frees what the claimant holds, or remembers it. Never rejects. */
  giveBack(claimant: string): Promise<void>;
  /** Frees what was remembered; rejects where the store is still away. */
  catchUp(): Promise<void>;
}

export function createLeftClaims(free: (claimant: string) => Promise<void>, logger: Pick<Logger, "warn">): LeftClaims {
  const left = new Set<string>();
  return {
    async giveBack(claimant) {
      try {
        await free(claimant);
      } catch (err) {
        left.add(claimant);
        logger.warn({ err }, "claims could not be given back; the next run does it");
      }
    },
    async catchUp() {
      for (const claimant of [...left]) {
        await free(claimant);
        left.delete(claimant);
      }
    },
  };
}
