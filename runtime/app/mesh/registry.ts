/** The registry of the nodes that share the database: each writes its own entry, all read it. */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { Member, NodeEntry } from "../../contracts/node-entry.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { FleetMember } from "../../contracts/version-skew.ts";
import { byName, isGenuine, memberState } from "../../domain/mesh/node-entry.ts";
import type { SchemaReader } from "../../domain/mesh/schema-readers.ts";

export interface NodeRegistry {
  /** Makes an entry of a version above the one that stands, and writes it. */
  publish(make: (version: number) => NodeEntry, tx?: Queryable): Promise<NodeEntry>;
  /** By name. An entry that its node has not signed is left out, and logged. */
  members(): Promise<readonly Member[]>;
  /** The genuine entry of a node that may call this one; null for any other id. */
  find(id: string): Promise<NodeEntry | null>;
  /** Removes nodes of which nothing was heard for a month. */
  prune(): Promise<void>;
}

const KEEP = "30 days";

export function createNodeRegistry(deps: { readonly database: Database; readonly logger: Logger }): NodeRegistry {
  const { database, logger } = deps;
  return {
    async publish(make, tx = database) {
      // Only the node itself writes its row, and one process is the node: nobody comes in between.
      const { id } = make(0);
      const { rows } = await tx.query<{ version: number }>(
        "/* nodes:version */ select version from nodes where id = $1",
        [id],
      );
      const entry = make(Number(rows[0]?.version ?? 0) + 1);
      await tx.query(
        `/* nodes:publish */ insert into nodes (id, version, entry) values ($1, $2, $3::jsonb)
         on conflict (id) do update set version = excluded.version, entry = excluded.entry`,
        [id, entry.version, JSON.stringify(entry)],
      );
      return entry;
    },
    async members() {
      const { rows } = await database.query<{ entry: NodeEntry; alive: boolean; heard: Date; hosts: string[] }>(
        `/* nodes:members */ select n.entry, coalesce(l.expires_at > now(), false) as alive,
           case when l.expires_at > '-infinity' then least(l.expires_at, now())
             else (n.entry ->> 'made_at')::timestamptz end as heard,
           array(select substr(a.name, 7) from leases a
             where a.name like 'agent:%' and a.holder = n.id and a.expires_at > now() order by 1) as hosts
         from nodes n left join leases l on l.name = 'node:' || n.id`,
      );
      return rows
        .filter(({ entry }) => {
          const genuine = isGenuine(entry);
          if (!genuine)
            logger.warn({ node: entry.id }, "an entry of the registry is not signed by its node: it is left out");
          return genuine;
        })
        .map(({ entry, alive, heard, hosts }) => ({
          entry,
          state: memberState(entry, alive),
          heard_at: new Date(heard).toISOString(),
          hosts,
        }))
        .sort(byName);
    },
    async find(id) {
      const { rows } = await database.query<{ entry: NodeEntry }>(
        "/* nodes:find */ select entry from nodes where id = $1",
        [id],
      );
      const entry = rows[0]?.entry;
      return entry?.id === id && isGenuine(entry) ? entry : null;
    },
    async prune() {
      await database.query(
        `/* nodes:prune */ delete from nodes n using leases l where l.name = 'node:' || n.id
           and l.expires_at < now() - interval '${KEEP}' and (n.entry ->> 'made_at')::timestamptz < now() - interval '${KEEP}'`,
      );
    },
  };
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
