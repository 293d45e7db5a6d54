/**
 * Rows of a work table that one owner has for a while. The table has `claimed_by` and `claimed_until`. A claim writes both, with the
 * SQL below, under an owner that is made for this piece of work: every later write of it asks whether `claimed_by` is still that
 * owner. A claim that is not renewed expires, so that the rows of a killed process are another's.
 */

import type { Database } from "../contracts/database.ts";
import type { Logger } from "../contracts/ports.ts";

/** The row has no claim, or one that was not renewed in time; none lasts for minutes, but one from before a clock was set back. */
export const UNCLAIMED = "(claimed_until is null or claimed_until not between now() and now() + interval '5 minutes')";
/** In the `set` of an update. */
export const RELEASED = "claimed_by = null, claimed_until = null";
/** Expression for `claimed_until`; the parameter has milliseconds. */
export const claimEnd = (parameter: `$${number}`) => `now() + ${parameter} * interval '1 millisecond'`;

export interface ClaimTimes {
  /** A claim of a process that died expires after this. */
  readonly leaseMs: number;
  readonly renewMs: number;
}

export interface ClaimsDeps {
  readonly database: Database;
  readonly table: "compaction_work" | "embedding_work";
  readonly times: ClaimTimes;
  readonly logger: Pick<Logger, "warn">;
}

/** The reason of the signal under which work is done whose claim is another owner's by now. */
export class ClaimLostError extends Error {
  constructor() {
    super("Another worker has claimed it.");
    this.name = "ClaimLostError";
  }
}

export class Claims {
  readonly #deps: ClaimsDeps;
  /** Owners whose claims could not be released because the database was unreachable. */
  readonly #pending = new Set<string>();
  #swept = false;

  constructor(deps: ClaimsDeps) {
    this.#deps = deps;
  }

  /**
   * Before a run: releases what the last one could not. The embedded store is single-process, so that all claims that a first run finds
   * are those of a process that was killed. Rejects where the database is still unreachable.
   */
  async catchUp(): Promise<void> {
    const { database, table } = this.#deps;
    if (!this.#swept && database.backend === "embedded") {
      await database.query(`update ${table} set ${RELEASED} where claimed_by is not null`);
    }
    this.#swept = true;
    for (const owner of [...this.#pending]) {
      await this.#release(owner);
      this.#pending.delete(owner);
    }
  }

  /** Whatever the owner has, also by a statement whose answer was lost, is free at once; where that fails, before the next run. Never rejects. */
  async release(owner: string): Promise<void> {
    try {
      await this.#release(owner);
    } catch (err) {
      this.#pending.add(owner);
      this.#deps.logger.warn({ err }, "claims could not be released; the next run does it");
    }
  }

  /** Renews the owner's claims until the work has ended. */
  async keep<T>(owner: string, work: () => Promise<T>): Promise<T> {
    return this.#keep(owner, work, () => undefined);
  }

  /** The same for one row, which the owner has claimed: once it is another's the signal aborts with ClaimLostError. */
  async keepOne<T>(owner: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lost = new AbortController();
    return this.#keep(
      owner,
      () => work(AbortSignal.any([signal, lost.signal])),
      (rows) => {
        if (rows === 0) lost.abort(new ClaimLostError());
      },
    );
  }

  async #keep<T>(owner: string, work: () => Promise<T>, onRenewed: (rows: number) => void): Promise<T> {
    const { database, table, times, logger } = this.#deps;
    const renewing = setInterval(() => {
      database
        .query(
          `update ${table} set claimed_until = ${claimEnd("$2")} where claimed_by = $1`,
          [owner, times.leaseMs],
          // A lost renewal is a claim that expires sooner.
          { durable: false },
        )
        .then(
          ({ count }) => onRenewed(count),
          // It is not lost before another owner has the row, and that one's claim refuses what this one would write.
          (err: unknown) => logger.warn({ err }, "claims could not be renewed; it is tried again"),
        );
    }, times.renewMs);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
    }
  }

  async #release(owner: string): Promise<void> {
    const { database, table } = this.#deps;
    await database.query(`update ${table} set ${RELEASED} where claimed_by = $1`, [owner]);
  }
}
