/** Up to which message each conversation was taken: Slack sends again what was not acknowledged, for some minutes alone. */

import { isRecord } from "../../../contracts/values.ts";
import { isConversation, isTime } from "./address.ts";

export interface Positions {
  conversations(): readonly string[];
  /** Undefined: nothing was taken there. */
  of(conversation: string): string | undefined;
  /** Never back. */
  advance(conversation: string, ts: string): void;
  remove(conversation: string): void;
  /** With what another node, or an earlier process, has kept. */
  merge(stored: unknown): void;
  toJSON(): Readonly<Record<string, string>>;
}

/** Conversations whose missed messages are read: those that were used last. Slack takes some fifty such requests a minute. */
const MOST = 40;
/** What is older is not read again: after a backup was restored, for instance. */
const MOST_AGE_S = 7 * 86_400;

export function createPositions(now: () => number = Date.now): Positions {
  const taken = new Map<string, string>();

  function advance(conversation: string, ts: string): void {
    const before = taken.get(conversation);
    if (before !== undefined && !isLater(ts, before)) return;
    taken.set(conversation, ts);
    if (taken.size <= MOST) return;
    const [oldest] = [...taken].reduce((least, one) => (isLater(least[1], one[1]) ? one : least));
    taken.delete(oldest);
  }

  return {
    conversations: () => [...taken.keys()],
    of(conversation) {
      const position = taken.get(conversation);
      if (position === undefined) return undefined;
      const oldest = `${Math.floor(now() / 1_000) - MOST_AGE_S}.000000`;
      return isLater(position, oldest) ? position : oldest;
    },
    advance,
    remove(conversation) {
      taken.delete(conversation);
    },
    merge(stored) {
      if (!isRecord(stored)) return;
      for (const [conversation, ts] of Object.entries(stored)) {
        if (isConversation(conversation) && isTime(ts)) advance(conversation, ts);
      }
    },
    toJSON: () => Object.fromEntries(taken),
  };
}

/** Of two messages' times: seconds, a point, and six digits. */
export function isLater(ts: string, other: string): boolean {
  return Number(ts) > Number(other);
}
