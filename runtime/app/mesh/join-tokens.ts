/** Tokens that let a node join: stored hashed, for one node each, for an hour. */

import type { Database } from "../../contracts/database.ts";
import { secretHash } from "../../contracts/join-token.ts";

export const JOIN_TOKEN_MS = 3_600_000;

export interface JoinTokens {
  /** By the database's clock. */
  create(secret: string): Promise<{ readonly expiresAt: Date }>;
  /**
   * Whether the secret lets this node in: in one statement, so that of two nodes that come with it at once one does. The node that
   * has used it may repeat its request, whose answer may have been lost.
   */
  consume(secret: string, node: string): Promise<boolean>;
  /** Whether `consume` would say so now. */
  admits(secret: string, node: string): Promise<boolean>;
  /** Forgets those whose time is over. */
  prune(): Promise<void>;
}

export function createJoinTokens(database: Pick<Database, "query">): JoinTokens {
  return {
    async create(secret) {
      const { rows } = await database.query<{ expires_at: Date }>(
        `/* join-tokens:create */ insert into join_tokens (hash, expires_at)
         values ($1, now() + $2 * interval '1 millisecond') returning expires_at`,
        [secretHash(secret), JOIN_TOKEN_MS],
      );
      // An insert returns its row.
      return { expiresAt: rows[0]?.expires_at ?? new Date() };
    },
    async consume(secret, node) {
      const { count } = await database.query(
        `/* join-tokens:consume */ update join_tokens set used_by = $2
         where hash = $1 and expires_at > now() and (used_by is null or used_by = $2)`,
        [secretHash(secret), node],
      );
      return count > 0;
    },
    async admits(secret, node) {
      const { rows } = await database.query(
        `/* join-tokens:admits */ select 1 from join_tokens
         where hash = $1 and expires_at > now() and (used_by is null or used_by = $2)`,
        [secretHash(secret), node],
      );
      return rows.length > 0;
    },
    async prune() {
      await database.query("/* join-tokens:prune */ delete from join_tokens where expires_at < now()");
    },
  };
}
