/** Scheduled backups, as nodes tell of them. */

/**
 * - `off`: not configured.
 * - `empty`: there is nothing to back up yet.
 * - `waiting`: the first one is still to come.
 * - `good`: the last one is as recent as it is to be.
 * - `late`: it is older than two intervals, and no attempt has failed.
 * - `failing`: the last attempt failed.
 */
export const BACKUP_STATES = ["off", "empty", "waiting", "good", "late", "failing"] as const;
export type BackupState = (typeof BACKUP_STATES)[number];

export interface BackupEntry {
  readonly name: string;
  /** Of its snapshot. */
  readonly created_at: string;
  readonly bytes: number;
  /** It was read back whole: when it was written, or now if that was asked for. */
  readonly verified: boolean;
}

/** The same from every node of the store. */
export interface BackupStatus {
  readonly state: BackupState;
  readonly every_s: number;
  readonly keep: number;
  /** By the clock of the node that answers, as all times here: another machine's may differ. */
  readonly now: string;
  /** When the next one is attempted, at once where that has passed; null: none is, being off or for want of messages. */
  readonly next_at: string | null;
  /** The newest, and the node that has it. */
  readonly last: {
    readonly name: string;
    readonly created_at: string;
    readonly bytes: number;
    readonly node: string;
  } | null;
  /** Attempts since then that failed. */
  readonly failure: {
    readonly since: string;
    readonly attempts: number;
    readonly message: string;
    readonly hint: string | null;
    readonly node: string;
  } | null;
}
