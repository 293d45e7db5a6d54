/** Where turns of agents run: on nodes of this database, whose inbox is this one's, or on members that have another one. */

import type { Database } from "../../contracts/database.ts";
import type { Member, NodeEntry } from "../../contracts/node-entry.ts";
import type { AgentPlace } from "../../domain/delegation.ts";
import { isGenuine } from "../../domain/mesh/node-entry.ts";
import type { Agent } from "../turn/agents.ts";

export interface FoundAgent {
  readonly place: AgentPlace;
  /** Members with another database that may run it, those that take new work first. */
  readonly elsewhere: readonly NodeEntry[];
}

export interface AgentPlaces {
  find(agent: string): Promise<FoundAgent>;
  /** Of all agents that can be had, in the order of the alphabet. */
  names(): Promise<readonly string[]>;
  /** The member with this id, whatever its database; null: there is none any more. */
  node(id: string): Promise<NodeEntry | null>;
  /** The other node of this database that runs the agent's turns now; null: none, or one that has named no address. */
  runner(agent: string): Promise<NodeEntry | null>;
  /** Whether a node has the same database. */
  shares(node: string): Promise<boolean>;
}

export interface AgentPlacesDeps {
  readonly database: Database;
  /** Of the registry: a node that was revoked is none of them. */
  readonly members: () => Promise<readonly Member[]>;
  readonly agents: ReadonlyMap<string, Pick<Agent, "node">>;
  readonly node: { readonly id: string; readonly name: string };
}

interface Row {
  readonly entry: NodeEntry;
  /** It has, or had, the lease of its identity in this database. */
  readonly ours: boolean;
}

export function createAgentPlaces({ database, members, agents, node }: AgentPlacesDeps): AgentPlaces {
  /** By the configuration alone: this node may run it, or any node of this database. */
  function isOwn(agent: string): boolean {
    const configured = agents.get(agent);
    return configured !== undefined && (configured.node === undefined || configured.node === node.name);
  }

  async function entries(condition: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const { rows } = await database.query<Row>(
      `/* nodes:agents */ select n.entry, l.name is not null as ours
       from nodes n left join leases l on l.name = 'node:' || n.id where ${condition} order by n.id`,
      values,
    );
    return rows.filter(({ entry }) => isGenuine(entry));
  }

  /** Members with databases of their own that were heard of late, and have not been revoked. */
  async function callable(rows: readonly Row[]): Promise<readonly NodeEntry[]> {
    const stalled = ({ state, shares_database }: Member) =>
      !shares_database && (state === "suspect" || state === "offline");
    const ids = new Set((await members()).filter((member) => !stalled(member)).map(({ entry }) => entry.id));
    return rows
      .map(({ entry }) => entry)
      .filter(({ id, status, address }) => {
        return ids.has(id) && status !== "stopped" && address !== null;
      });
  }

  return {
    async find(agent) {
      if (isOwn(agent)) return { place: "here", elsewhere: [] };
      const [rows, held] = await Promise.all([
        entries("n.entry -> 'agents' ? $1", [agent]),
        database.query("/* nodes:hosted */ select 1 from leases where name = 'agent:' || $1 and expires_at > now()", [
          agent,
        ]),
      ]);
      if (held.count > 0 || rows.some(({ ours }) => ours)) return { place: "here", elsewhere: [] };
      const elsewhere = (await callable(rows)).toSorted(
        (a, b) => Number(a.status === "draining") - Number(b.status === "draining"),
      );
      if (elsewhere.length > 0) return { place: "elsewhere", elsewhere };
      // Of another node of this configuration, of which nothing is known yet: it may come.
      return { place: agents.has(agent) ? "here" : "nowhere", elsewhere: [] };
    },
    async names() {
      const rows = await entries("true", []);
      const called = await callable(rows.filter(({ ours }) => !ours));
      const others = [...rows.filter(({ ours }) => ours).map(({ entry }) => entry), ...called];
      return [...new Set([...agents.keys(), ...others.flatMap((entry) => entry.agents)])].sort();
    },
    async node(id) {
      return (await entries("n.id = $1", [id]))[0]?.entry ?? null;
    },
    async runner(agent) {
      const { rows } = await database.query<{ entry: NodeEntry }>(
        `/* nodes:runner */ select n.entry from leases a join nodes n on n.id = a.holder
         where a.name = 'agent:' || $1 and a.expires_at > now() and a.holder <> $2`,
        [agent, node.id],
      );
      const entry = rows[0]?.entry;
      return entry && entry.address !== null && isGenuine(entry) ? entry : null;
    },
    async shares(id) {
      const { count } = await database.query("/* nodes:shares */ select 1 from leases where name = 'node:' || $1", [
        id,
      ]);
      return count > 0;
    },
  };
}
