/**
 * A circuit breaker as a value: 5 failures within 60 s open it for 30 s, then one probe decides. Times are milliseconds of a
 * clock that never goes back. Pure.
 */

export const FAILURES = 5;
export const WINDOW_MS = 60_000;
export const OPEN_MS = 30_000;

export type Circuit =
  /** When calls failed; the last of them within the window. */
  | { readonly state: "closed"; readonly failures: readonly number[] }
  | { readonly state: "open"; readonly until: number }
  | { readonly state: "half_open" };

export const CLOSED: Circuit = { state: "closed", failures: [] };

export type Admission =
  /** `probe`: its outcome decides whether the circuit closes. */
  | { readonly admitted: true; readonly probe: boolean; readonly circuit: Circuit }
  | { readonly admitted: false; readonly retryAfterMs: number };

/** Whether a call may be made now. A second one while the probe runs is refused and does not wait for it. */
export function admit(circuit: Circuit, now: number): Admission {
  if (circuit.state === "closed") return { admitted: true, probe: false, circuit };
  if (circuit.state === "half_open") return { admitted: false, retryAfterMs: 1_000 };
  if (now < circuit.until) return { admitted: false, retryAfterMs: circuit.until - now };
  return { admitted: true, probe: true, circuit: { state: "half_open" } };
}

/** `cancelled`: the caller ended the call, which says nothing about the provider. */
export type CallOutcome = "succeeded" | "failed" | "cancelled";

/** Of calls that are no probe only failures count, and only while the circuit is closed. */
export function afterCall(circuit: Circuit, probe: boolean, outcome: CallOutcome, now: number): Circuit {
  if (probe) {
    if (circuit.state !== "half_open") return circuit;
    if (outcome === "succeeded") return CLOSED;
    // After a cancelled probe the next call is one, at once.
    return { state: "open", until: outcome === "failed" ? now + OPEN_MS : now };
  }
  if (circuit.state !== "closed" || outcome !== "failed") return circuit;
  const failures = [...recent(circuit.failures, now), now];
  return failures.length < FAILURES ? { state: "closed", failures } : { state: "open", until: now + OPEN_MS };
}

/** Closed and without a failure that still counts: the same as one that was never used. */
export function isIdle(circuit: Circuit, now: number): boolean {
  return circuit.state === "closed" && recent(circuit.failures, now).length === 0;
}

/** Failures that still count; 0 where it is not closed. */
export function failuresOf(circuit: Circuit, now: number): number {
  return circuit.state === "closed" ? recent(circuit.failures, now).length : 0;
}

function recent(failures: readonly number[], now: number): readonly number[] {
  return failures.filter((at) => now - at < WINDOW_MS);
}
