/** A rollout of the nodes that share a database, as it is kept there. */

export const ROLLOUT_OUTCOMES = ["passed", "rolled_back", "paused", "operator"] as const;

/** The right to change a fleet, held by one command line at a time. */
export interface RolloutLease {
  /** Of the database that keeps it: another one begins to count anew. */
  readonly fleet: string;
  /** Higher than that of every holder before. */
  readonly number: number;
  /** Milliseconds for which it is held after each renewal. */
  readonly ttlMs: number;
}

/** The journal of a rollout. What its steps mean is for those who carry it out (control/rollout/fleet-steps.ts). */
export interface RolloutRecord {
  readonly id: string;
  /** Who began it. */
  readonly holder: string;
  /** Identity of the image or release that all nodes are to get. */
  readonly to: string;
  /** What each node had, in the order in which they are changed; null: nothing. */
  readonly from: readonly { readonly node: string; readonly image: string | null }[];
  readonly on_failure: "rollback" | "pause";
  readonly max_unavailable: number;
  /** ISO 8601. */
  readonly started_at: string;
  readonly steps: readonly {
    readonly name: string;
    readonly state: "begun" | "done" | "failed";
    /** ISO 8601. */
    readonly at: string;
  }[];
  /** Null: it is under way, or was interrupted. */
  readonly end: {
    readonly outcome: (typeof ROLLOUT_OUTCOMES)[number];
    readonly done: readonly string[];
    readonly failed: string | null;
    readonly reason: string | null;
    readonly stuck: readonly string[];
    readonly unknown: readonly string[];
  } | null;
}
