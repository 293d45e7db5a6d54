/** Nodes that share a database, as far as a rollout asks them: lease and journal as the real ones promise, and drains that are noted. */

import type { NodeAccess } from "../../../control/deploy/operations/services.ts";
import type { Client } from "../../../runtime/client/index.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { RolloutRecord } from "../../../runtime/contracts/rollout.ts";

export interface FleetInMemory {
  /** Newest last. */
  readonly rollouts: RolloutRecord[];
  /** `drain one with lease 1`, in order. */
  readonly seen: string[];
  /** Somebody else takes the lease. */
  take(holder: string): void;
  /** As if its holder had not been heard for too long. */
  expire(): void;
  /** Who gives the lease back gets no answer, and it stays taken. */
  losesReleases: boolean;
  /** What is asked through a node that is out of reach fails. */
  readonly unreachable: Set<string>;
  /** Nodes that answer and serve nothing. */
  readonly unready: Set<string>;
  readonly call: NodeAccess["call"];
}

/** `members`: names in the registry. */
export function fleetInMemory(members: readonly string[]): FleetInMemory {
  const rollouts: RolloutRecord[] = [];
  const seen: string[] = [];
  const unreachable = new Set<string>();
  const unready = new Set<string>();
  let lease = { number: 0, id: "", holder: "", held: false };
  const locked = (): InfraError => new InfraError("INFRA_LOCKED", `The fleet is being changed by ${lease.holder}.`);
  const newest = (number: number): void => {
    if (number !== lease.number) throw locked();
  };

  const clientOf = (node: string): Partial<Client> => ({
    mesh: async () => members.map((name) => memberOf(name)),
    acquireRolloutLease: async ({ id, holder }) => {
      if (lease.held && lease.id !== id) throw locked();
      lease = { number: lease.number + (lease.id === id ? 0 : 1), id, holder, held: true };
      return { fleet: "fleet", number: lease.number, ttlMs: 30_000 };
    },
    renewRolloutLease: async (number) => {
      newest(number);
      if (!lease.held) throw locked();
    },
    releaseRolloutLease: async (number) => {
      if (fleet.losesReleases) throw new InfraError("INFRA_HOST_UNREACHABLE", "No answer.");
      if (number === lease.number) lease = { ...lease, held: false };
    },
    rollouts: async (limit) => rollouts.toReversed().slice(0, limit),
    writeRollout: async (record, number) => {
      newest(number);
      const at = rollouts.findIndex(({ id }) => id === record.id);
      if (at < 0) rollouts.push(record);
      else rollouts[at] = record;
    },
    drain: async ({ lease: number = 0 } = {}) => {
      newest(number);
      seen.push(`drain ${node} with lease ${number}`);
    },
    // What a rollout reads of it.
    health: async () => ({ version: "0.1.0", started_at: "2026-11-26T00:00:00Z" }) as never,
    ready: async () => !unready.has(node),
  });
  const fleet: FleetInMemory = {
    losesReleases: false,
    rollouts,
    seen,
    unreachable,
    unready,
    take(holder) {
      lease = { number: lease.number + 1, id: "another's", holder, held: true };
    },
    expire() {
      lease = { ...lease, held: false };
    },
    call: async ({ node }, _signal, work) => {
      if (unreachable.has(node)) throw new InfraError("INFRA_HOST_UNREACHABLE", `${node} is away.`);
      // A rollout calls nothing else.
      return work(clientOf(node) as Client);
    },
  };
  return fleet;
}

function memberOf(name: string): Awaited<ReturnType<Client["mesh"]>>[number] {
  return {
    id: name,
    name,
    version: "0.1.0",
    schema: 1,
    address: null,
    certificate_sha256: null,
    next_certificate_sha256: null,
    agents: [],
    hosts: [],
    shares_database: true,
    status: "online",
    self: false,
  };
}
