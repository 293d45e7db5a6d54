/** Tokens of a node's HTTP interface, as its routes report them and clients read them. */

export const SCOPES = ["capture", "memory", "agent", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** ISO 8601. */
  readonly created_at: string;
  readonly revoked_at: string | null;
  /** Null: it does not expire. */
  readonly expires_at: string | null;
  /** To the minute; null: never. */
  readonly last_used_at: string | null;
}

/** Neither revoked nor expired. A node of an earlier version reports no expiry at all. */
export function isActive(token: Pick<TokenRecord, "revoked_at" | "expires_at">, now: Date): boolean {
  return token.revoked_at === null && (!token.expires_at || new Date(token.expires_at) > now);
}

export interface RestoreReport {
  /** Restored records, by kind. */
  readonly counts: Readonly<Record<string, number>>;
  /** What became of the tokens that the archive holds. */
  readonly tokens: {
    readonly left_out: number;
    readonly restored: readonly {
      readonly name: string;
      readonly scopes: readonly Scope[];
      readonly revoked: boolean;
    }[];
  };
}
