/** The fleet in one view: what the registry says of each node, whether the node that was asked reaches it, and what is wrong. */

import type { Client } from "../../runtime/client/index.ts";
import { byName, type FleetMember, type FleetProblem, problemsOf, problemsOfOwn } from "./fleet-problems.ts";

export interface Fleet {
  /** Name of the node that was asked. */
  readonly node: string;
  /** Whether its configuration has it in a mesh: else nodes may do without addresses. */
  readonly mesh_enabled: boolean;
  /** Those with something wrong first, then by name. */
  readonly members: readonly FleetMember[];
  readonly problems: readonly FleetProblem[];
}

/** `eachMs`: milliseconds that a node gets to answer the one that is asked. */
export async function readFleet(client: Client, signal: AbortSignal, eachMs?: number): Promise<Fleet> {
  const [health, nodes, pings] = await Promise.all([
    client.health({ signal }),
    client.mesh({ signal }),
    client.pingPeers({ signal, eachMs }),
  ]);
  const members = nodes.map((node): FleetMember => {
    const found = pings.find(({ id }) => id === node.id);
    if (found === undefined) return { ...node, ping: null };
    const { id: _id, name: _name, ...ping } = found;
    return { ...node, ping };
  });
  const mesh_enabled = health.mesh.enabled;
  const { node, mesh } = health;
  const problems = [...problemsOfOwn(node, mesh), ...problemsOf(members, mesh_enabled)];
  const wrong = new Set(problems.map(({ id }) => id));
  const sorted = members.toSorted((a, b) => Number(wrong.has(b.id)) - Number(wrong.has(a.id)) || byName(a, b));
  return { node: node.name, mesh_enabled, members: sorted, problems };
}
