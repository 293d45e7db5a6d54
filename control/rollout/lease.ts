/** Holds a fleet's lease while work is done: renews it, and refuses to number a command once it may be another's. */

import { InfraError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { FencingToken, FleetLease, LeaseGrant, RolloutClock } from "./contracts.ts";

/** Milliseconds between renewals, and after one that was not answered. */
const RENEW_MS = 10_000;
const RETRY_MS = 2_000;
/**
 * Milliseconds before its end at which a lease no longer counts. The time runs from before the request, so that this is only for
 * clocks that run at different speeds, and for the command's way to the host.
 */
const MARGIN_MS = 5_000;

/** Why what waits for a lease is aborted that is no longer needed. */
const ENDED = new Error("The lease is no longer needed.");

export interface HeldLease {
  readonly number: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  /** Of the next command. INFRA_LOCKED once the lease may be another's: called right before each. */
  token(): FencingToken;
}

/** Errors of `acquire`. The lease is released at the end, or expires where that is not possible. */
export async function withLease<T>(
  { clock, lease }: { readonly clock: RolloutClock; readonly lease: FleetLease },
  holder: string,
  signal: AbortSignal,
  work: (lease: HeldLease) => Promise<T>,
): Promise<T> {
  const asked = clock.monotonic();
  const grant = await lease.acquire(holder, signal);
  const keeper = new LeaseKeeper(clock, lease, grant, asked);
  const kept = keeper.keep();
  try {
    return await work(keeper);
  } finally {
    keeper.stop();
    await kept;
    if (!keeper.signal.aborted) await lease.release(grant.number).catch(() => undefined);
  }
}

class LeaseKeeper implements HeldLease {
  readonly #clock: RolloutClock;
  readonly #lease: FleetLease;
  readonly #grant: LeaseGrant;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  #attempt: AbortController | null = null;
  /** By the monotonic clock. */
  #until: number;
  #commands = 0;

  constructor(clock: RolloutClock, lease: FleetLease, grant: LeaseGrant, asked: number) {
    this.#clock = clock;
    this.#lease = lease;
    this.#grant = grant;
    this.#until = asked + grant.ttlMs - MARGIN_MS;
  }

  get number(): number {
    return this.#grant.number;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  token(): FencingToken {
    if (this.#clock.monotonic() >= this.#until) this.#lose();
    this.signal.throwIfAborted();
    this.#commands++;
    return { fleet: this.#grant.fleet, lease: this.number, command: this.#commands };
  }

  stop(): void {
    this.#stopped.abort(ENDED);
    this.#attempt?.abort(ENDED);
  }

  /** Until it is stopped, or lost. Never rejects. */
  async keep(): Promise<void> {
    let pauseMs = RENEW_MS;
    while (await this.#slept(pauseMs)) {
      pauseMs = (await this.#renew()) ? RENEW_MS : RETRY_MS;
      if (this.#clock.monotonic() >= this.#until) this.#lose();
    }
  }

  /** False: it was not answered in the time that the lease had left. */
  async #renew(): Promise<boolean> {
    const sent = this.#clock.monotonic();
    const attempt = new AbortController();
    this.#attempt = attempt;
    const expiry = this.#clock.sleep(Math.max(this.#until - sent, 0), attempt.signal).then(
      () => false,
      () => false,
    );
    const renewed = this.#lease.renew(this.number, attempt.signal).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === "INFRA_LOCKED") this.#lose();
        return false;
      },
    );
    const done = await Promise.race([renewed, expiry]);
    attempt.abort(ENDED);
    if (done) this.#until = sent + this.#grant.ttlMs - MARGIN_MS;
    return done;
  }

  async #slept(ms: number): Promise<boolean> {
    const shortMs = Math.min(ms, Math.max(this.#until - this.#clock.monotonic(), 0));
    await this.#clock.sleep(shortMs, this.#stopped.signal).catch(() => undefined);
    return !this.#stopped.signal.aborted && !this.#lost.signal.aborted;
  }

  #lose(): void {
    if (this.#lost.signal.aborted) return;
    const hint = "See what runs, and resume the rollout.";
    this.#lost.abort(new InfraError("INFRA_LOCKED", "The lease on the fleet could not be renewed.", { hint }));
  }
}
