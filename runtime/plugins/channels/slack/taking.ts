/**
 * Messages that are to be taken, in the order in which they came: each once, however often Slack sends it, and acknowledged once it is
 * taken. What could not be taken is kept, for the next connection.
 */

import { LRUCache } from "lru-cache";
import { untilAborted } from "../until-aborted.ts";
import type { SlackMessage } from "./inbound.ts";
import { isLater } from "./positions.ts";

export interface TakingDeps {
  /** False where it is for no agent. Rejects where the message is to come again. */
  take(message: SlackMessage, signal: AbortSignal): Promise<boolean>;
  /** It is to be taken after others. */
  notice(message: SlackMessage): void;
  /** It was, or is for no agent; resolves when that is stored. */
  keep(message: SlackMessage, isTaken: boolean): Promise<void>;
  /** It waits for those that come before it. */
  isHeld(message: SlackMessage): boolean;
  /** A message was taken, or there is none to take. */
  progress(): void;
}

export interface Taking {
  /** False where there is no room for it: it is not acknowledged, and comes again. */
  put(message: SlackMessage, acknowledge: () => void): boolean;
  /** One that was missed, and that nothing sends again. */
  putMissed(message: SlackMessage): void;
  /** By the time of writing: those that were missed come before those that came meanwhile. */
  sort(): void;
  /** Takes what there is until the signal aborts, or nothing is left to take and `isOver`. Rejects as `take`. */
  run(signal: AbortSignal, isOver: () => boolean): Promise<void>;
  /** `isOver` may have changed. */
  wake(): void;
  /** There is nothing to take. */
  isIdle(): boolean;
  /** Of another receiver by now: Slack sends it there. */
  drop(): void;
}

interface Waiting {
  readonly key: string;
  readonly message: SlackMessage;
  /** One for each time that it was sent. */
  readonly acknowledge: (() => void)[];
  /** Goes on where the connection breaks meanwhile. */
  work?: Promise<boolean> | undefined;
}

const MOST_WAITING = 1_000;
/** Messages that are recognised when they come again, though they were acknowledged: a command is not carried out twice. */
const MOST_TAKEN = 2_000;

export function createTaking({ take, notice, keep, isHeld, progress }: TakingDeps): Taking {
  const waiting = new Map<string, Waiting>();
  const taken = new LRUCache<string, true>({ max: MOST_TAKEN });
  let wake: () => void = () => undefined;

  const first = (): Waiting | undefined => waiting.values().find(({ message }) => !isHeld(message));

  return {
    put(message, acknowledge) {
      const key = keyOf(message);
      const present = waiting.get(key);
      if (taken.has(key)) acknowledge();
      else if (present) present.acknowledge.push(acknowledge);
      else if (waiting.size >= MOST_WAITING) return false;
      else {
        waiting.set(key, { key, message, acknowledge: [acknowledge] });
        notice(message);
      }
      wake();
      return true;
    },
    putMissed(message) {
      const key = keyOf(message);
      if (taken.has(key) || waiting.has(key)) return;
      waiting.set(key, { key, message, acknowledge: [] });
      notice(message);
    },
    async run(signal, isOver) {
      const abort = (): void => wake();
      signal.addEventListener("abort", abort, { once: true });
      // Some are of a connection that has ended.
      for (const { message } of waiting.values()) notice(message);
      while (!signal.aborted) {
        const next = first();
        if (next === undefined) {
          if (isOver()) return;
          const woken = Promise.withResolvers<void>();
          wake = woken.resolve;
          await woken.promise;
          continue;
        }
        const hasBegun = next.work !== undefined;
        next.work ??= take(next.message, signal);
        let isTaken: boolean | undefined;
        try {
          isTaken = await untilAborted(next.work, signal);
        } catch (error) {
          next.work = undefined;
          // It was of a connection that has ended, and with it what it waited for.
          if (hasBegun && !signal.aborted) continue;
          throw error;
        }
        if (isTaken !== undefined) await untilAborted(keep(next.message, isTaken), signal);
        // Whether it was taken is not certain: it comes again.
        if (signal.aborted) return;
        waiting.delete(next.key);
        taken.set(next.key, true);
        for (const acknowledge of next.acknowledge) acknowledge();
        progress();
      }
    },
    sort() {
      const all = [...waiting].toSorted(([, a], [, b]) => (isLater(a.message.ts, b.message.ts) ? 1 : -1));
      waiting.clear();
      for (const [key, one] of all) waiting.set(key, one);
    },
    wake: () => wake(),
    isIdle: () => first() === undefined,
    drop: () => waiting.clear(),
  };
}

function keyOf({ channel, ts }: SlackMessage): string {
  return `${channel}:${ts}`;
}
