/** How long news of a changed list wait until it is read: many at once are one, and a server that goes on and on is read rarely. */

import type { Clock } from "../../contracts/ports.ts";
import { CHANGES_MS, LONGEST_CHANGES_MS } from "./limits.ts";

/** Milliseconds, each time twice as long as before; anew after a long time without news. */
export function createChangesPause(clock: Pick<Clock, "monotonic">): () => number {
  let next = CHANGES_MS;
  let quietSince = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    const pause = now - quietSince > LONGEST_CHANGES_MS ? CHANGES_MS : next;
    next = Math.min(2 * pause, LONGEST_CHANGES_MS);
    quietSince = now + pause;
    return pause;
  };
}
