/** The lease and the journal of a fleet: they are in the database that its nodes share, and whichever node answers is asked. */

import { randomUUID } from "node:crypto";
import type { Client } from "../../runtime/client/index.ts";
import { CairnError, InfraError } from "../../runtime/contracts/errors.ts";
import type { RolloutRecord } from "../../runtime/contracts/rollout.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { FleetLease, RolloutEntry, RolloutJournal } from "./contracts.ts";
import type { FleetStep } from "./fleet-steps.ts";

/** A node that may be asked. */
export interface FleetDoor {
  readonly name: string;
  call<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T>;
}

export interface FleetDatabase {
  readonly lease: FleetLease;
  readonly journal: RolloutJournal;
  /** Newest first. */
  history(limit: number, signal: AbortSignal): Promise<readonly RolloutEntry[]>;
}

/** UTF-16 units of why a rollout ended. */
const MOST_REASON = 10_000;
/** Milliseconds that one node gets to answer. */
const ANSWER_MS = 5_000;
/** Milliseconds for which a journal is tried to be written, and between two attempts: a database that starts anew is there again. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

export interface FleetDatabaseOptions {
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** UUID of who takes the lease: with the same one it is taken again before it has run out. Default: a new one. */
  readonly id?: string;
}

export function createFleetDatabase(
  doors: readonly FleetDoor[],
  { now, sleep, id = randomUUID() }: FleetDatabaseOptions,
): FleetDatabase {
  /** The one that answered last comes first. */
  let order = [...doors];

  async function ask<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    let last: unknown = new InfraError("INFRA_HOST_UNREACHABLE", "The fleet has no node.");
    for (const door of [...order]) {
      signal.throwIfAborted();
      try {
        const answer = await door.call(signal, work);
        order = [door, ...order.filter((one) => one !== door)];
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer(error)) throw explained(error);
        last = error;
      }
    }
    const why = last instanceof Error ? last.message : String(last);
    throw new InfraError("INFRA_HOST_UNREACHABLE", `No node of the fleet answers: ${why}`, { cause: last });
  }

  async function patiently(signal: AbortSignal, work: (client: Client) => Promise<void>): Promise<void> {
    const began = now();
    for (;;) {
      try {
        return await ask(signal, work);
      } catch (error) {
        if (codeOf(error) !== "INFRA_HOST_UNREACHABLE" || now() - began >= PATIENCE_MS) throw error;
        await sleep(PAUSE_MS, signal);
      }
    }
  }

  const list = async (limit: number, signal: AbortSignal): Promise<readonly RolloutEntry[]> => {
    const records = await ask(signal, (client) => client.rollouts(limit, { signal, timeoutMs: ANSWER_MS }));
    return records.map(entryOf);
  };
  const never = new AbortController().signal;

  return {
    lease: {
      acquire: (holder, signal) =>
        ask(signal, (client) => client.acquireRolloutLease({ id, holder }, { signal, timeoutMs: ANSWER_MS })),
      renew: (number, signal) =>
        ask(signal, (client) => client.renewRolloutLease(number, { signal, timeoutMs: ANSWER_MS })),
      release: (number) => ask(never, (client) => client.releaseRolloutLease(number, { timeoutMs: ANSWER_MS })),
    },
    journal: {
      read: async (signal) => (await list(1, signal))[0] ?? null,
      write: (entry, lease) =>
        patiently(never, (client) => client.writeRollout(recordOf(entry), lease, { timeoutMs: ANSWER_MS })),
    },
    history: list,
  };
}

/** Whether the node has answered, so that another one would say the same; else it, or the way to it, has failed. */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof CairnError)) return false;
  return error.code === "INFRA_LOCKED" || (error.status >= 400 && error.status < 500 && !error.retryable);
}

function explained(error: unknown): unknown {
  if (codeOf(error) !== "RUNTIME_NOT_FOUND") return error;
  return new InfraError("INFRA_UP_REFUSED", "The nodes run a version that keeps no rollouts of a fleet.", {
    cause: error,
    hint: "Give them this version once without --mesh: `cairn infra up --roll --image IMAGE`, or `cairn update` on the machine of each.",
  });
}

function recordOf(entry: RolloutEntry): RolloutRecord {
  const { onFailure, maxUnavailable, startedAt, end: ended, ...same } = entry;
  // A program's last words may be in it; a node takes no more, and a rollout has to be able to end.
  const end = ended === null ? null : { ...ended, reason: ended.reason?.slice(0, MOST_REASON) ?? null };
  return { ...same, end, on_failure: onFailure, max_unavailable: maxUnavailable, started_at: startedAt };
}

function entryOf(record: RolloutRecord): RolloutEntry {
  const { on_failure: onFailure, max_unavailable: maxUnavailable, started_at: startedAt, ...same } = record;
  // Names of steps are written by this program alone; one that is none says nothing of any node.
  const steps = record.steps.map((step) => ({ ...step, name: step.name as FleetStep }));
  return { ...same, steps, onFailure, maxUnavailable, startedAt };
}
