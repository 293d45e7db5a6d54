/** Somebody whom the owner has admitted to a channel, or who has asked for it by writing to it. */
export interface PairingRecord {
  /** As in `channels.<id>`. */
  readonly channel: string;
  /** The platform's id of the person. */
  readonly user: string;
  /** As the platform shows it: the person's own word. */
  readonly name: string;
  /** ISO 8601. */
  readonly requested_at: string;
  /** ISO 8601, of a code; null: the person is admitted. */
  readonly expires_at: string | null;
  /** ISO 8601; null: not yet. */
  readonly approved_at: string | null;
}
