/**
 * Messages that are to be taken, in the order in which they came: each once, however often Slack sends it, and acknowledged once it is
 * taken. What could not be taken is kept, for the next connection.
 */

import { LRUCache } from "lru-cache";
import { untilAborted } from "../until-aborted.ts";
import type { SlackMessage } from "./inbound.ts";
import { isLater } from "./positions.ts";

export interface TakingDeps {
  /** False where nobody hears it. Rejects where the message is to come again. */
  take(message: SlackMessage, signal: AbortSignal): Promise<boolean>;
  /** It was; resolves when that is stored. */
  keep(message: SlackMessage): Promise<void>;
  /** A message was taken, or there is none to take. */
  progress(): void;
}

export interface Taking {
  put(message: SlackMessage, acknowledge?: () => void): void;
  /** By the time of writing: those that were missed come before those that came meanwhile. */
  sort(): void;
  /** Takes what there is until the signal aborts. Rejects as `take`. */
  run(signal: AbortSignal): Promise<void>;
  /** Nothing waits, and nothing is being taken. */
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

/** What is more is not acknowledged, and comes again. */
const MOST_WAITING = 1_000;
/** Messages that are recognised when they come again, though they were acknowledged: a command is not carried out twice. */
const MOST_TAKEN = 2_000;

export function createTaking({ take, keep, progress }: TakingDeps): Taking {
  const waiting = new Map<string, Waiting>();
  const taken = new LRUCache<string, true>({ max: MOST_TAKEN });
  let wake: () => void = () => undefined;

  return {
    put(message, acknowledge = () => undefined) {
      const key = `${message.channel}:${message.ts}`;
      const present = waiting.get(key);
      if (taken.has(key)) acknowledge();
      else if (present) present.acknowledge.push(acknowledge);
      else if (waiting.size < MOST_WAITING) waiting.set(key, { key, message, acknowledge: [acknowledge] });
      wake();
    },
    async run(signal) {
      const abort = (): void => wake();
      signal.addEventListener("abort", abort, { once: true });
      while (!signal.aborted) {
        const [next] = waiting.values();
        if (next === undefined) {
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
        if (isTaken) await untilAborted(keep(next.message), signal);
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
    isIdle: () => waiting.size === 0,
    drop: () => waiting.clear(),
  };
}
