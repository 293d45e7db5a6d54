/** Bounds what a server sends without having been asked: each request of it is answered, and each message takes time of the node. */

import { MAX_UNASKED, UNASKED_MS } from "./limits.ts";

/** Counts a message; true when there are too many of them. `now` in milliseconds. */
export function createUnaskedCount(now: () => number = () => performance.now()): () => boolean {
  let began = now();
  let count = 0;
  return () => {
    if (now() - began > UNASKED_MS) {
      began = now();
      count = 0;
    }
    count += 1;
    return count > MAX_UNASKED;
  };
}
