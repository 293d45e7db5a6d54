/** Time that passes while the machine sleeps, too: a lease runs out meanwhile, and the system's monotonic clock may stand still. */

/** Milliseconds by which the clock of the day is ahead before that counts as sleep, or as a clock that was set: both end a lease early. */
const SLEPT_MS = 1_000;

/** A monotonic clock in milliseconds. */
export function createElapsedClock(
  monotonic: () => number = () => performance.now(),
  wall: () => number = () => Date.now(),
): () => number {
  let elapsed = 0;
  let last = { monotonic: monotonic(), wall: wall() };
  return () => {
    const now = { monotonic: monotonic(), wall: wall() };
    const passed = now.monotonic - last.monotonic;
    const asleep = now.wall - last.wall - passed;
    elapsed += passed + (asleep >= SLEPT_MS ? asleep : 0);
    last = now;
    return elapsed;
  };
}
