/** Deadlines that the service, the checks of its configuration and the plan of a deployment have in common. */

/** The watchdog ends a process that long after the drain deadline, in milliseconds; the supervisor's kill must come later. */
export const WATCHDOG_MS = 10_000;
