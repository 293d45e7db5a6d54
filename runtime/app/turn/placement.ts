/**
 * Which agents this node hosts: those that are pinned to it or to none, and whose lease it holds. Before that it holds the
 * lease of its own identity: a copied home directory makes two nodes of one name, which would take each other's turns.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { LeaseTable } from "../leases.ts";
import { type Agent, hostableAgents } from "./agents.ts";

export interface Placement {
  /**
   * Takes what can be taken now and keeps trying for the rest. RUNTIME_ALREADY_RUNNING when another process keeps renewing
   * the lease of this node's identity. The signal ends the wait for that lease.
   */
  start(signal?: AbortSignal): Promise<void>;
  hosted(): readonly string[];
  /** Renews now instead of at the next round, and takes what has become free. */
  renewNow(): void;
  /**
   * Leaves the agents to other nodes until they are taken back, each as soon as `ended` resolves for it; the node keeps its
   * identity. Resolves when their leases are free, or cannot be given back and run out.
   */
  handOver(ended: (agent: string) => Promise<unknown>): Promise<void>;
  /** Takes again what is free; a hand-over that is under way ends where it is. */
  takeBack(): void;
  /** Whether another node shares the store at present. */
  hasPeers(): Promise<boolean>;
  /** Gives every lease back. */
  stop(): Promise<void>;
}

export interface PlacementDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly leases: Pick<LeaseTable, "acquire" | "release" | "held">;
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
  /** Tells the other nodes that leases of agents are free. */
  announceRelease(): Promise<void>;
}

/** Of the leases of nodes' identities. */
const IDENTITY = "node:";

export function createPlacement(deps: PlacementDeps): Placement {
  const { agents, leases, node, leaseMs, clock, logger } = deps;
  const candidates = hostableAgents(agents, node.name);
  /** Agent to the monotonic time at which its lease ends for us. */
  const held = new Map<string, number>();
  /** Left to other nodes: neither hosted nor taken here. */
  const givenBack = new Set<string>();
  /** Ends the hand-over that is under way. */
  let calledOff = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  /** One after the other: a renewal that is under way does not take what is given back behind it. */
  let round: Promise<void> = Promise.resolve();
  let isDue = false;
  const stopping = new AbortController();
  const identity = `${IDENTITY}${node.id}`;
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
      if (givenBack.has(agent)) continue;
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

  function renewNow(): void {
    if (isDue || stopping.signal.aborted) return;
    isDue = true;
    round = round.then(() => {
      isDue = false;
      return refresh();
    });
  }

  async function giveBack(agents: readonly string[]): Promise<void> {
    for (const agent of agents) givenBack.add(agent);
    round = round.then(releaseGivenBack);
    await round;
  }

  async function releaseGivenBack(): Promise<void> {
    const free = [...held.keys()].filter((agent) => givenBack.has(agent));
    if (free.length === 0) return;
    for (const agent of free) held.delete(agent);
    await Promise.allSettled(free.map((agent) => leases.release(`agent:${agent}`, node.id)));
    // Unheard, they are found at the next round of the others.
    await deps.announceRelease().catch(() => undefined);
  }

  async function handOver(ended: (agent: string) => Promise<unknown>): Promise<void> {
    const { signal } = calledOff;
    await Promise.all(
      candidates.map(async (agent) => {
        await ended(agent);
        if (!signal.aborted) await giveBack([agent]);
      }),
    );
  }

  function takeBack(): void {
    calledOff.abort();
    calledOff = new AbortController();
    givenBack.clear();
    renewNow();
  }

  function isHeld(agent: string): boolean {
    return (held.get(agent) ?? Number.NEGATIVE_INFINITY) > clock.monotonic();
  }

  return {
    async start(signal) {
      await becomeTheNode(signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal);
      // A drain that was asked for before ends with the start.
      takeBack();
      await round;
      timer = setInterval(renewNow, leaseMs / 4);
      timer.unref();
    },
    hosted: () => candidates.filter((agent) => isHeld(agent) && !givenBack.has(agent)),
    renewNow,
    handOver,
    takeBack,
    async hasPeers() {
      return (await leases.held(IDENTITY)).some((name) => name !== identity);
    },
    async stop() {
      stopping.abort();
      if (timer) clearInterval(timer);
      await giveBack(candidates);
      await leases.release(identity, deps.boot).catch(() => undefined);
    },
  };
}

function duplicateNodeId(id: string): RuntimeError {
  return new RuntimeError("RUNTIME_ALREADY_RUNNING", `Another running node has the identity ${id} of this one.`, {
    hint: "If this home directory is a copy, delete node.key in it: the node then gets an identity of its own.",
  });
}
