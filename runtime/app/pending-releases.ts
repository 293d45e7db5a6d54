import type { Logger } from "../contracts/ports.ts";

/**
 * Claims that a run could not release because the database was unreachable. They are released before the next run of this
 * process, so that no row waits for its lease to expire. Claims of other processes are not touched.
 */

export interface PendingReleases {
  /** Releases the owner's claims, or keeps them for `catchUp`. Never rejects. */
  release(owner: string): Promise<void>;
  /** Releases what is pending; rejects where the database is still unreachable. */
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
        logger.warn({ err }, "claims could not be released; the next run does it");
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
