import type { Queryable } from "../../contracts/database.ts";
import type { RowOrigin } from "../../domain/memory-fence.ts";

/** Where the rows of conversations come from. It never changes once a conversation is open, so it is kept in a cache. */

export interface ConversationOrigin {
  readonly openedBy: RowOrigin;
  readonly byOwner: boolean;
  readonly user: string;
  /** The channel's name of the session, else its key. */
  readonly session: string;
}

interface Row {
  readonly id: string;
  readonly opened_by: RowOrigin;
  readonly by_owner: boolean;
  readonly user_id: string;
  readonly session: string;
}

const CACHED = 10_000;

export class Origins {
  readonly #cache = new Map<string, ConversationOrigin>();

  /** By the conversation's id; those that do not exist are left out. One statement at most, none where all are cached. */
  async of(
    database: Queryable,
    conversations: Iterable<string | null>,
  ): Promise<ReadonlyMap<string, ConversationOrigin>> {
    const ids = [...new Set([...conversations].filter((id) => id !== null))];
    const origins = new Map(ids.flatMap((id) => [[id, this.#cache.get(id)] as const]).filter(isCached));
    const unknown = ids.filter((id) => !origins.has(id));
    if (unknown.length === 0) return origins;
    const { rows } = await database.query<Row>(
      "select id, opened_by, by_owner, user_id, coalesce(channel_id, session_key) as session from conversations where id = any($1::uuid[])",
      [unknown],
    );
    if (this.#cache.size + rows.length > CACHED) this.#cache.clear();
    for (const { id, opened_by: openedBy, by_owner: byOwner, user_id: user, session } of rows) {
      const origin = { openedBy, byOwner, user, session };
      this.#cache.set(id, origin);
      origins.set(id, origin);
    }
    return origins;
  }
}

function isCached(
  entry: readonly [string, ConversationOrigin | undefined],
): entry is readonly [string, ConversationOrigin] {
  return entry[1] !== undefined;
}
