import type { Database } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { type Claim, renew } from "./work.ts";

/** Keeps a claim alive while work is done under it, and ends the work when the claim is lost. */

export class LeaseLostError extends Error {
  constructor(reason: string) {
    super(`The claim on the conversation was lost: ${reason}.`);
    this.name = "LeaseLostError";
  }
}

export interface LeaseTimes {
  /** A claim of a worker that died ends after this. */
  readonly leaseMs: number;
  /** So often it is renewed. */
  readonly renewMs: number;
  /** Nobody has a conversation for longer: a model that hangs at it has failed at it. */
  readonly longestMs: number;
}

export const LEASE_TIMES: LeaseTimes = { leaseMs: 30_000, renewMs: 7_500, longestMs: 6 * 3_600_000 };
/** So long what a model is doing is not thrown away because the store is: nobody else may have taken the claim. */
const UNAVAILABLE_MS = 120_000;

export interface LeaseDeps {
  readonly database: Database;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Pick<Logger, "warn">;
  readonly times: LeaseTimes;
}

/** The work gets a signal that aborts with the caller's, with LeaseLostError, or after the longest time. */
export async function withLease<T>(
  { database, clock, logger, times }: LeaseDeps,
  held: Claim,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  let renewedAt = clock.monotonic();
  const keep = async (): Promise<void> => {
    const at = clock.monotonic();
    try {
      if (await renew(database, held, times.leaseMs)) renewedAt = at;
      else ending.abort(new LeaseLostError("another worker has it"));
    } catch (err) {
      if (clock.monotonic() - renewedAt >= Math.max(times.leaseMs, UNAVAILABLE_MS))
        ending.abort(new LeaseLostError("the store is away"));
      else
        logger.warn({ err, conversation_id: held.conversationId }, "a claim could not be renewed; it is tried again");
    }
  };
  const renewing = setInterval(() => void keep(), times.renewMs);
  const longest = setTimeout(() => ending.abort(heldTooLong(times.longestMs)), times.longestMs);
  try {
    return await work(AbortSignal.any([signal, ending.signal]));
  } finally {
    clearInterval(renewing);
    clearTimeout(longest);
  }
}

function heldTooLong(ms: number): MemoryError {
  const hours = Math.round(ms / 360_000) / 10;
  return new MemoryError("MEMORY_SUMMARY_UNUSABLE", `The model gave no answer within ${hours} h.`);
}
