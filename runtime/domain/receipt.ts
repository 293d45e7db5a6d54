/** Whether the author of a message is shown at once that it was taken, though its turn cannot begin yet. Pure. */

/** The reaction that shows it: one that every platform has. */
export const RECEIPT = "👀";

export interface StoredMessage {
  /** It was stored just now, and not before: what comes twice is shown once. */
  readonly isFresh: boolean;
  /** Its turn has not begun. */
  readonly isQueued: boolean;
  /** Another turn of its conversation has not ended. */
  readonly isBehind: boolean;
  /** This node runs its agent, and has begun all the turns that it has room for. */
  readonly isPassedOver: boolean;
}

export function needsReceipt({ isFresh, isQueued, isBehind, isPassedOver }: StoredMessage): boolean {
  return isFresh && isQueued && (isBehind || isPassedOver);
}
