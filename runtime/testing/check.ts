import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** What all checks are made with, whichever contract they are of. */

/** One check, for any test runner. */
export interface ConformanceCheck {
  readonly name: string;
  /** Rejects with an AssertionError that says what is wrong. */
  run(): Promise<void>;
}

/** Milliseconds that anything may take, on a slow machine too. */
const DEADLINE_MS = 60_000;
const POLL_MS = 10;

/** Rejects where the work takes longer than anything may. */
export async function inTime(name: string, work: Promise<void>): Promise<void> {
  const deadline = new AbortController();
  const late = sleep(DEADLINE_MS, undefined, { signal: deadline.signal }).then(() =>
    assert.fail(`nothing happened for ${DEADLINE_MS / 1_000} s: ${name}`),
  );
  try {
    await Promise.race([work, late]);
  } finally {
    deadline.abort();
    await late.catch(() => undefined);
  }
}

/** What a call rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  assert.fail("the call has to reject, and it resolved");
}

/** Checks that an error has one of these codes, whichever copy of its class it is from. */
export function assertFailure(error: unknown, codes: readonly string[], retryable: boolean): void {
  assert(error instanceof Error, `the call has to reject with an error, and it was ${String(error)}`);
  const code = "code" in error ? String(error.code) : "no code";
  assert(codes.includes(code), `the code has to be ${codes.join(" or ")}, and it is ${code}: ${error.message}`);
  assert.equal("retryable" in error && error.retryable, retryable, `whether ${code} is retryable`);
}

export async function waitUntil(condition: () => boolean, what: string, withinMs = DEADLINE_MS / 2): Promise<void> {
  for (const end = Date.now() + withinMs; !condition(); await sleep(POLL_MS)) {
    assert(Date.now() < end, what);
  }
}
