import type { Logger } from "../contracts/ports.ts";

/**
 * Claims that a run could not give back because the store was away. They are given back before the next run of this
 * process, so that nothing waits for the end of a lease whose holder is long gone. Those of other processes are theirs.
 */

export interface PendingReleases {
  /** Frees what the owner holds, or remembers it. Never rejects. */
  release(owner: string): Promise<void>;
  /** Frees what was remembered; rejects where the store is still away. */
  catchUp(): Promise<void>;
}

export function createPendingReleases(
  free: (owner: string) => Promise<void>,
  logger: Pick<Logger, "warn">,
): PendingReleases {
  const pending = new Set<string>();
  return {
    async release(owner) {
      try {
        await free(owner);
      } catch (err) {
        pending.add(owner);
        logger.warn({ err }, "claims could not be given back; the next run does it");
      }
    },
    async catchUp() {
      for (const owner of [...pending]) {
        await free(owner);
        pending.delete(owner);
      }
    },
  };
}
