/** What every command on a fleet asks first, however its nodes are driven: whether the options fit it, and whether a rollout is open. */

import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { UsageError } from "../output/failure.ts";
import type { FleetLease, RolloutEntry } from "./contracts.ts";
import type { FleetDatabase } from "./fleet-database.ts";

export interface FleetOptions {
  /** Goes on with what was interrupted, with the image that it began with. */
  readonly resume: boolean;
  /** The node that is changed first; undefined: one that does not run, else that of the fewest agents. */
  readonly canary: string | undefined;
  /** Nodes that may be out of service at once. */
  readonly maxUnavailable: number;
}

export interface Fleet {
  readonly database: FleetDatabase;
  /** The rollout that was interrupted; null: there is none. */
  readonly interrupted: RolloutEntry | null;
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** UsageError. `count`: how many are changed, where a name stands for several equal ones. */
export function refuseOptions(
  names: readonly string[],
  { canary, maxUnavailable }: FleetOptions,
  count: number = names.length,
): void {
  if (canary !== undefined && !names.includes(canary)) {
    throw new UsageError(`There is no node ${canary}.`, `Nodes: ${names.join(", ")}.`);
  }
  if (count < 2) {
    throw new UsageError("The deployment has one node, which is no fleet.", "Run `cairn update` without --mesh.");
  }
  if (maxUnavailable >= count) {
    throw new UsageError(
      `With --max-unavailable ${maxUnavailable} none of the ${count} nodes would be left.`,
      `The most is ${count - 1}.`,
    );
  }
}

/**
 * Under the lease, so that a rollout that is under way is not taken for one that was interrupted: INFRA_LOCKED, naming its holder.
 * INFRA_INTERRUPTED, RUNTIME_NOT_FOUND by what is interrupted.
 */
export async function openJournal(
  database: FleetDatabase,
  { resume }: FleetOptions,
  { holder, sleep }: { readonly holder: string; readonly sleep: Sleep },
  signal: AbortSignal,
): Promise<Fleet> {
  const lease = resume ? patient(database.lease, sleep) : database.lease;
  const { number } = await lease.acquire(holder, signal);
  const last = await database.journal.read(signal).finally(() => lease.release(number).catch(() => undefined));
  const interrupted = last !== null && last.end === null ? last : null;
  if (resume && interrupted === null) {
    throw new RuntimeError("RUNTIME_NOT_FOUND", "No rollout was interrupted: there is nothing to resume.");
  }
  if (!resume && interrupted !== null) {
    const { startedAt, holder, to } = interrupted;
    throw new InfraError("INFRA_INTERRUPTED", `The rollout to ${to} of ${startedAt} was interrupted (${holder}).`, {
      hint: "Run `cairn update --mesh --resume`. It looks at the nodes first.",
    });
  }
  return { database, interrupted };
}

/** As others are shown who has the lease. */
export function holderOf(by: { readonly user: string; readonly host: string; readonly pid: number }): string {
  return `${by.user}@${by.host} (process ${by.pid})`;
}

/** Milliseconds until the lease of a holder that was killed has run out for certain, and between two attempts to take it. */
const EXPIRY_MS = 40_000;
const RETRY_MS = 2_000;

/** A rollout that was cut off a moment ago is resumed by the same command as one of yesterday. */
export function patient(lease: FleetLease, sleep: Sleep): FleetLease {
  return {
    ...lease,
    async acquire(holder, signal) {
      for (let waited = 0; ; waited += RETRY_MS) {
        try {
          return await lease.acquire(holder, signal);
        } catch (error) {
          if (codeOf(error) !== "INFRA_LOCKED" || waited >= EXPIRY_MS) throw error;
          await sleep(RETRY_MS, signal);
        }
      }
    },
  };
}
