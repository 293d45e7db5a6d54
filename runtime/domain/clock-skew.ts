/** Stored times that cannot have come yet: the clock that they were read from was ahead, or was set back since. Pure. */

/** Clocks of two nodes differ by less. */
const MAX_SKEW_MS = 5 * 60_000;

/** Milliseconds since 1970. */
export function isAhead(at: number, now: number): boolean {
  return at > now + MAX_SKEW_MS;
}
