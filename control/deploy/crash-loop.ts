/**
 * Whether something that was started serves, may still come to serve, or will not: one rule for every target, decided from what its
 * driver observes (docs/decisions/037-who-waits-for-health.md). Pure.
 */

import type { ObservedNode, ObservedPart } from "./inspection.ts";

/** A node, or the database. */
export type Started = Pick<ObservedPart | ObservedNode, "state" | "health" | "restarts"> & {
  readonly reason?: string | null;
};

export type StartState =
  | { readonly kind: "healthy" }
  | { readonly kind: "starting" }
  /** `why` continues the sentence "It does not start: ". */
  | { readonly kind: "failed"; readonly why: string };

/** What earlier observations of the same one say. */
export interface StartHistory {
  /** How often the target had started it again before what is watched began. */
  readonly restartsBefore: number;
  /** Since when it does not run and nothing starts it again, in milliseconds of a clock that never goes back; null: it runs. */
  readonly endedSinceMs: number | null;
  /** What an observation said last of why it does not serve: one that finds it just started again knows nothing. */
  readonly reason: string | null;
}

/** The first end may be an accident of the start, such as a lock that a former process held; the second one shows that it is none. */
const MOST_ENDS = 2;
/** Something that was just made may not run yet, in milliseconds. */
const ENDED_MS = 5_000;

/** `restartsBefore`: of what stood there before this run; null: nothing did. */
export function beginHistory(restartsBefore: number | null): StartHistory {
  return { restartsBefore: restartsBefore ?? 0, endedSinceMs: null, reason: null };
}

export function follow(history: StartHistory, seen: Started, nowMs: number): StartHistory {
  return {
    // Targets count anew for what they make anew.
    restartsBefore: Math.min(history.restartsBefore, seen.restarts ?? 0),
    endedSinceMs: hasEnded(seen) ? (history.endedSinceMs ?? nowMs) : null,
    reason: seen.reason ?? history.reason,
  };
}

/** `history`: of `follow` with this same observation. */
export function startState(history: StartHistory, seen: Started, nowMs: number): StartState {
  if (seen.state === "running" && seen.health === "healthy") return { kind: "healthy" };
  if (isCrashLoop((seen.restarts ?? 0) - history.restartsBefore)) {
    return { kind: "failed", why: seen.reason ?? history.reason ?? "it ends again and again" };
  }
  if (history.endedSinceMs !== null && nowMs - history.endedSinceMs >= ENDED_MS) {
    return { kind: "failed", why: seen.reason ?? (seen.state === "missing" ? "it is gone" : "it does not run") };
  }
  return { kind: "starting" };
}

/** `restarts`: since it was made, or was last known to serve. */
export function isCrashLoop(restarts: number): boolean {
  return restarts >= MOST_ENDS;
}

/** A target that starts it again says `unhealthy`, one that still makes it `starting`. */
function hasEnded({ state, health }: Started): boolean {
  return state === "missing" || (state === "stopped" && health === "unknown");
}
