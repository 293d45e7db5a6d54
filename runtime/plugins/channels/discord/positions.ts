/** Up to which message each conversation was taken: Discord keeps messages, and not which of them a bot was given. */

import type { APIMessage } from "discord-api-types/v10";
import { isRecord } from "../../../contracts/values.ts";

export interface Positions {
  conversations(): readonly string[];
  of(conversation: string): string | undefined;
  /** False where the message was taken before. */
  isNew(message: Pick<APIMessage, "channel_id" | "id">): boolean;
  /** Never back. */
  advance(conversation: string, id: string): void;
  remove(conversation: string): void;
  /** This one is kept, however long ago it was used. */
  pin(conversation: string): void;
  /** With what another node, or an earlier process, has kept. */
  merge(stored: unknown): void;
  /** Where they have changed since the last time. */
  store(write: (positions: Readonly<Record<string, string>>) => Promise<void>): Promise<void>;
}

/** Conversations whose missed messages are read: those that were used last. */
const MOST = 100;
/** What is older is not read again: after a backup was restored, for instance. */
const MOST_AGE_MS = 7 * 86_400_000;

export function createPositions(now: () => number = Date.now): Positions {
  const taken = new Map<string, bigint>();
  const pinned = new Set<string>();
  let isChanged = false;

  function advance(conversation: string, id: string): void {
    const to = BigInt(id);
    if (to <= (taken.get(conversation) ?? -1n)) return;
    taken.set(conversation, to);
    isChanged = true;
    if (taken.size <= MOST) return;
    const others = [...taken].filter(([one]) => !pinned.has(one));
    const [oldest] = others.reduce((least, one) => (one[1] < least[1] ? one : least));
    taken.delete(oldest);
  }

  return {
    conversations: () => [...taken.keys()],
    of(conversation) {
      const position = taken.get(conversation);
      if (position === undefined) return undefined;
      const oldest = snowflakeAt(now() - MOST_AGE_MS);
      return String(position > oldest ? position : oldest);
    },
    isNew: ({ channel_id: conversation, id }) => BigInt(id) > (taken.get(conversation) ?? -1n),
    advance,
    remove(conversation) {
      isChanged = taken.delete(conversation) || isChanged;
    },
    pin(conversation) {
      pinned.add(conversation);
    },
    merge(stored) {
      if (!isRecord(stored)) return;
      const wasChanged = isChanged;
      for (const [conversation, id] of Object.entries(stored)) {
        if (isSnowflake(conversation) && isSnowflake(id)) advance(conversation, id);
      }
      isChanged = wasChanged;
    },
    async store(write) {
      if (!isChanged) return;
      isChanged = false;
      try {
        await write(Object.fromEntries([...taken].map(([conversation, id]) => [conversation, String(id)])));
      } catch (error) {
        isChanged = true;
        throw error;
      }
    },
  };
}

export function isSnowflake(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,20}$/.test(value);
}

/** The message before this one, and before all that are newer. */
export function before(id: string): string {
  return String(BigInt(id) - 1n);
}

/** The first id of a moment (Discord, Snowflakes): milliseconds since 2015, and 22 bits. */
function snowflakeAt(ms: number): bigint {
  return BigInt(Math.max(0, ms - 1_420_070_400_000)) << 22n;
}
