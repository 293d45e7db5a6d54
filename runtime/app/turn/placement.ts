/**
 * Which agents this node hosts: those that are pinned to it or to none, and whose lease it holds. Before that it holds the
 * lease of its own identity: a copied home directory makes two nodes of one name, which would take each other's turns.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { LeaseTable } from "../leases.ts";
import type { Agent } from "./agents.ts";

export interface Placement {
  /**
   * Takes what can be taken now and keeps trying for the rest. RUNTIME_ALREADY_RUNNING when another process keeps renewing
   * the lease of this node's identity. The signal ends the wait for that lease.
   */
  start(signal?: AbortSignal): Promise<void>;
  hosted(): readonly string[];
  /** Gives every lease back. */
  stop(): Promise<void>;
}

export interface PlacementDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly leases: Pick<LeaseTable, "acquire" | "release">;
  readonly node: { readonly id: string; readonly name: string };
  /** One start of the process. */
  readonly boot: string;
  /** Where at most one process of this node can be alive: an earlier start that held it has ended. */
  readonly place: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when an agent has come to this node. */
  onGained(): void;
  /** When its lease had run out and is its own again: rejects when it must not go on. */
  onReturn(): Promise<void>;
}

export function createPlacement(deps: PlacementDeps): Placement {
  const { agents, leases, node, leaseMs, clock, logger } = deps;
  const candidates = [...agents.values()]
    .filter((agent) => agent.node === undefined || agent.node === node.name)
    .map((agent) => agent.name);
  /** Agent to the monotonic time at which its lease ends for us. */
  const held = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let round: Promise<void> = Promise.resolve();
  const stopping = new AbortController();
  const identity = `node:${node.id}`;
  /** Monotonic time at which the lease of the identity ends for us. */
  let identityEndsAt = Number.POSITIVE_INFINITY;

  async function takeIdentity(): Promise<number | null> {
    const asked = clock.monotonic();
    const epoch = await leases.acquire(identity, deps.boot, leaseMs, deps.place);
    if (epoch === null) return null;
    if (asked > identityEndsAt) await deps.onReturn();
    identityEndsAt = asked + leaseMs;
    return epoch;
  }

  /** A holder that has died is waited for; one that lives renews its lease meanwhile. */
  async function becomeTheNode(signal: AbortSignal): Promise<void> {
    const until = clock.monotonic() + leaseMs * 1.5;
    while ((await takeIdentity()) === null) {
      if (clock.monotonic() >= until) throw duplicateNodeId(node.id);
      logger.warn({ node: node.id }, "another process has this node's identity; waiting until its lease expires");
      await sleep(leaseMs / 4, undefined, { signal });
    }
  }

  async function refresh(): Promise<void> {
    const mine = await takeIdentity().catch(() => undefined);
    if (mine === null) {
      held.clear();
      logger.error({ node: node.id }, "another process has taken this node's identity: nothing is hosted here");
    }
    // Unknown or lost: what is held runs out by itself.
    if (mine == null) return;
    let gained = false;
    for (const agent of candidates) {
      // Counted from before the request: the database's lease ends no earlier.
      const endsAt = clock.monotonic() + leaseMs;
      const epoch = await leases.acquire(`agent:${agent}`, node.id, leaseMs).catch((error: unknown) => {
        logger.warn({ err: error, agent }, "the lease of an agent could not be renewed");
        return undefined;
      });
      if (epoch === undefined) continue;
      if (epoch === null) held.delete(agent);
      else {
        gained ||= !isHeld(agent);
        held.set(agent, endsAt);
      }
    }
    if (gained) deps.onGained();
  }

  function isHeld(agent: string): boolean {
    return (held.get(agent) ?? Number.NEGATIVE_INFINITY) > clock.monotonic();
  }

  return {
    async start(signal) {
      await becomeTheNode(signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal);
      await refresh();
      timer = setInterval(() => {
        round = round.then(refresh);
      }, leaseMs / 4);
      timer.unref();
    },
    hosted: () => candidates.filter(isHeld),
    async stop() {
      stopping.abort();
      if (timer) clearInterval(timer);
      await round;
      await Promise.allSettled([...held.keys()].map((agent) => leases.release(`agent:${agent}`, node.id)));
      held.clear();
      await leases.release(identity, deps.boot).catch(() => undefined);
    },
  };
}

function duplicateNodeId(id: string): RuntimeError {
  return new RuntimeError("RUNTIME_ALREADY_RUNNING", `Another running node has the identity ${id} of this one.`, {
    hint: "If this home directory is a copy, delete node.key in it: the node then gets an identity of its own.",
  });
}
