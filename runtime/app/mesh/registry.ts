/** The registry: the nodes that share the database, each of which writes its own entry, and the members with databases of their own. */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { Member, NodeEntry } from "../../contracts/node-entry.ts";
import type { Clock } from "../../contracts/ports.ts";
import type { FleetMember } from "../../contracts/version-skew.ts";
import type { Liveness } from "../../domain/mesh/liveness.ts";
import { byName, memberState, remoteState } from "../../domain/mesh/node-entry.ts";
import type { SchemaReader } from "../../domain/mesh/schema-readers.ts";
import type { MeshStore, StoredMesh, StoredNode } from "./mesh-store.ts";
import type { MeshView } from "./mesh-view.ts";

export interface NodeRegistry {
  /** Makes an entry of a version above the one that stands, and above `above`, and writes it. */
  publish(make: (version: number) => NodeEntry, tx?: Queryable, above?: number): Promise<NodeEntry>;
  /** By name. An entry that its node has not signed is left out, and logged; so is a revoked node. */
  members(): Promise<readonly Member[]>;
  /**
   * The genuine entry of a node that may call this one: a member that is not revoked. Null for any other id. From memory; an id that
   * is not known there has the database asked, once a second at most.
   */
  find(id: string): Promise<NodeEntry | null>;
  /** Removes nodes of which nothing was heard for a month. */
  prune(): Promise<void>;
}

export interface NodeRegistryDeps {
  readonly database: Database;
  readonly store: Pick<MeshStore, "read" | "prune">;
  readonly view: Pick<MeshView, "current" | "refresh">;
  /** Of a member with a database of its own. */
  readonly livenessOf: (id: string) => Liveness;
  readonly clock: Clock;
}

const REFRESH_MS = 1_000;

export function createNodeRegistry({ database, store, view, livenessOf, clock }: NodeRegistryDeps): NodeRegistry {
  let refreshedAt = Number.NEGATIVE_INFINITY;
  function asMember({ entry, shared, alive, heard, hosts }: StoredNode): Member {
    const heard_at = heard?.toISOString() ?? entry.made_at;
    if (shared) return { entry, state: memberState(entry, alive), heard_at, hosts, shares_database: true };
    const state = remoteState(entry, livenessOf(entry.id));
    return { entry, state, heard_at, hosts: state === "online" ? entry.agents : [], shares_database: false };
  }

  return {
    async publish(make, tx = database, above = 0) {
      // Only the node itself writes its row, and one process is the node: nobody comes in between.
      const { id } = make(0);
      const { rows } = await tx.query<{ version: number }>(
        "/* nodes:version */ select version from nodes where id = $1",
        [id],
      );
      const entry = make(Math.max(above, Number(rows[0]?.version ?? 0)) + 1);
      await tx.query(
        `/* nodes:publish */ insert into nodes (id, version, entry) values ($1, $2, $3::jsonb)
         on conflict (id) do update set version = excluded.version, entry = excluded.entry`,
        [id, entry.version, JSON.stringify(entry)],
      );
      return entry;
    },
    async members() {
      const { nodes } = await store.read(clock.now());
      return nodes.map(asMember).sort(byName);
    },
    async find(id) {
      const cached = nodeIn(await view.current(), id);
      if (cached !== null || clock.monotonic() - refreshedAt < REFRESH_MS) return cached;
      refreshedAt = clock.monotonic();
      return nodeIn(await view.refresh(), id);
    },
    async prune() {
      await store.prune(clock.now());
    },
  };
}

function nodeIn({ nodes }: StoredMesh, id: string): NodeEntry | null {
  return nodes.find(({ entry }) => entry.id === id)?.entry ?? null;
}

/** The nodes that live now, but for `own`: by their leases, also those of versions that write no entry. */
export async function liveReaders(tx: Queryable, own: string): Promise<readonly (SchemaReader & FleetMember)[]> {
  const { rows } = await tx.query<SchemaReader & FleetMember>(
    `/* nodes:live */ select coalesce(n.entry ->> 'name', substr(l.name, 6)) as name, (n.entry ->> 'schema')::int as schema,
       n.entry ->> 'release' as release
     from leases l left join nodes n on n.id = substr(l.name, 6)
     where l.name like 'node:%' and l.expires_at > now() and l.name <> 'node:' || $1 order by 1`,
    [own],
  );
  return rows;
}
