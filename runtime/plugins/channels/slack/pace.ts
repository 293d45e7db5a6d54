/** How often the replies of a bot are changed while they are written: Slack's limit is one for all of them. */

export interface Pace {
  /** Milliseconds until the next change of this conversation's. */
  pauseMs(conversation: string): number;
}

/** Of one reply alone. */
const LEAST_MS = 3_000;
/** Between two changes of any: Slack takes some fifty a minute (chat.update, Tier 3), and replies that are whole need room, too. */
const EACH_MS = 1_500;
/** A reply whose pause was not asked for so long is written no more. */
const LASTS_MS = 40_000;

export function createPace(now: () => number = () => performance.now()): Pace {
  const asked = new Map<string, number>();
  return {
    pauseMs(conversation) {
      const at = now();
      asked.set(conversation, at);
      for (const [one, time] of asked) if (at - time > LASTS_MS) asked.delete(one);
      return Math.max(LEAST_MS, asked.size * EACH_MS);
    },
  };
}
