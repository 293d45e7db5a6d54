/** Which agents this node hosts: those that are pinned to it or to none, and whose lease it holds. */

import type { Clock, Logger } from "../../contracts/ports.ts";
import type { LeaseTable } from "../leases.ts";
import type { Agent } from "./agents.ts";

export interface Placement {
  /** Takes what can be taken now and keeps trying for the rest. */
  start(): Promise<void>;
  hosted(): readonly string[];
  /** Gives every lease back. */
  stop(): Promise<void>;
}

export interface PlacementDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly leases: LeaseTable;
  readonly node: { readonly id: string; readonly name: string };
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when an agent has come to this node. */
  onGained(): void;
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

  async function refresh(): Promise<void> {
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
    async start() {
      await refresh();
      timer = setInterval(() => {
        round = round.then(refresh);
      }, leaseMs / 4);
      timer.unref();
    },
    hosted: () => candidates.filter(isHeld),
    async stop() {
      if (timer) clearInterval(timer);
      await round;
      await Promise.allSettled([...held.keys()].map((agent) => leases.release(`agent:${agent}`, node.id)));
      held.clear();
    },
  };
}
