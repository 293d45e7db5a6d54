/**
 * How long a test waits for what has to happen at some time, in milliseconds: a busy machine is slow, not broken. Half of
 * the shortest limit of a test, so that what never happens is told by the one who waited for it.
 */
export const EVENTUALLY_MS = 90_000;
