/** How long a server asks to wait, by its header Retry-After. Pure. */

const LONGEST_S = 86_400;

/** Undefined where it is no whole number of seconds up to a day: a date depends on whose clock is right. */
export function retryAfterSeconds(header: string): number | undefined {
  const seconds = Number(header);
  return Number.isInteger(seconds) && seconds > 0 && seconds <= LONGEST_S ? seconds : undefined;
}
