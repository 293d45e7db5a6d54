/**
 * The tables of the mesh: the nodes that share the database, the members with databases of their own, revocations, and which mesh
 * it is. Read whole at every look: signatures are checked, and entries fetched, only when a row has changed.
 */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { Admission, MeshRecord, Revocation } from "../../contracts/membership.ts";
import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isChainGenuine, isUnrevoked } from "../../domain/mesh/admission.ts";
import type { Changes, Mesh } from "../../domain/mesh/merge.ts";
import { isForgotten, isGenuine } from "../../domain/mesh/node-entry.ts";

/** A node whose entry is signed by it. */
export interface StoredNode {
  readonly entry: NodeEntry;
  /** Null where it is no member of this mesh, or not yet. */
  readonly admission: Admission | null;
  /** Whether it has, or had, a lease here: it shares the database. So does one that nobody has admitted, or it would not be here. */
  readonly shared: boolean;
  /** Whether its lease has not run out. */
  readonly alive: boolean;
  /** When its lease ran out, or now; null where it has none, or gave it back. */
  readonly heard: Date | null;
  /** Agents whose leases it has. */
  readonly hosts: readonly string[];
}

export interface StoredMesh {
  /** Null: no node of this database has founded or entered one. */
  readonly root: string | null;
  readonly nodes: readonly StoredNode[];
  /** The members among them, and the revocations. */
  readonly mesh: Mesh;
}

export interface MeshStore {
  read(now: Date): Promise<StoredMesh>;
  /** Writes what a merge has changed. Of two nodes that write at once, the higher version stays. */
  save(changes: Pick<Changes, "records" | "revocations" | "removed">): Promise<void>;
  /** Founds the mesh of this database; with `instead` in place of one that has no members. False when another node was first. */
  found(root: string, instead?: string | null): Promise<boolean>;
  /** Writes the countersignature beside the entry of a node that shares the database. */
  admit(id: string, admission: Admission): Promise<void>;
  /** Becomes part of another mesh: all or nothing. */
  enter(given: {
    readonly root: string;
    readonly own: string;
    readonly admission: Admission;
    readonly records: readonly MeshRecord[];
    readonly revocations: readonly Revocation[];
  }): Promise<void>;
  /** Forgets the mesh, but for the goodbye of this node. */
  leave(goodbye: Revocation): Promise<void>;
  /** Forgets nodes of which nothing was heard for a month: by their entries, and by their leases where they had one. */
  prune(now: Date): Promise<void>;
}

interface CachedRow {
  readonly revision: string;
  readonly entry: NodeEntry;
  /** Genuine for `root`; null where it is not. */
  readonly admission: Admission | null;
  readonly root: string | null;
  readonly genuine: boolean;
}

interface RowState {
  readonly id: string;
  readonly revision: string;
  readonly shared: boolean;
  readonly alive: boolean;
  readonly heard: Date | null;
  readonly hosts: readonly string[];
}

export function createMeshStore(deps: { readonly database: Database; readonly logger: Logger }): MeshStore {
  const { database, logger } = deps;
  const cache = new Map<string, CachedRow>();

  async function refreshCache(states: readonly RowState[], root: string | null): Promise<void> {
    const present = new Set(states.map(({ id }) => id));
    for (const id of cache.keys()) if (!present.has(id)) cache.delete(id);
    const stale = states.filter(({ id, revision }) => {
      const row = cache.get(id);
      return row?.revision !== revision || row.root !== root;
    });
    if (stale.length === 0) return;
    const { rows } = await database.query<{ revision: string; entry: NodeEntry; admission: Admission | null }>(
      "/* nodes:entries */ select xmin::text as revision, entry, admission from nodes where id = any($1::text[])",
      [stale.map(({ id }) => id)],
    );
    for (const { revision, entry, admission } of rows) {
      const genuine = isGenuine(entry);
      if (!genuine)
        logger.warn({ node: entry.id }, "an entry of the registry is not signed by its node: it is left out");
      const admitted = genuine && root !== null ? admissionOf(entry, admission, root) : null;
      cache.set(entry.id, { revision, entry, admission: admitted, root, genuine });
    }
  }

  return {
    async read(now) {
      const [about, states] = await Promise.all([
        database.query<{ root: string | null; revocations: readonly Revocation[] }>(
          `/* mesh:read */ select (select root from mesh) as root,
             coalesce((select jsonb_agg(revocation) from revocations), '[]'::jsonb) as revocations`,
        ),
        database.query<RowState>(
          `/* nodes:members */ select n.id, n.xmin::text as revision, l.name is not null or n.admission is null as shared,
             coalesce(l.expires_at > now(), false) as alive,
             case when l.expires_at > '-infinity' then least(l.expires_at, now()) end as heard,
             case when l.name is null then '{}'::text[] else array(select substr(a.name, 7) from leases a
               where a.name like 'agent:%' and a.holder = n.id and a.expires_at > now() order by 1) end as hosts
           from nodes n left join leases l on l.name = 'node:' || n.id`,
        ),
      ]);
      const { root = null, revocations: given = [] } = about.rows[0] ?? {};
      const revocations = new Map(given.map((revocation) => [revocation.node, revocation]));
      await refreshCache(states.rows, root);
      const nodes = states.rows.flatMap(({ id, shared, alive, heard, hosts }): StoredNode[] => {
        const row = cache.get(id);
        if (!row?.genuine || revocations.has(id)) return [];
        const { entry } = row;
        const holds = row.admission !== null && isUnrevoked(entry.public_key, row.admission, revocations);
        // A member of another database is here because it was admitted, and as long as that holds.
        if (!shared && (!holds || isForgotten(entry, now))) return [];
        return [
          {
            entry,
            admission: holds ? row.admission : null,
            shared,
            alive,
            heard: heard === null ? null : new Date(heard),
            hosts,
          },
        ];
      });
      const records = nodes.flatMap(({ entry, admission }): MeshRecord[] => (admission ? [{ entry, admission }] : []));
      const members = new Map(records.map((record) => [record.entry.id, record]));
      return { root, nodes, mesh: { root: root ?? "", records: members, revocations } };
    },

    async save({ records, revocations, removed }) {
      if (records.length + revocations.length + removed.length === 0) return;
      await database.transaction(async (tx) => {
        await saveRecords(tx, records);
        await saveRevocations(tx, revocations);
        if (removed.length > 0) await tx.query("delete from nodes where id = any($1::text[])", [removed]);
      });
    },

    async found(root, instead = null) {
      const { count } =
        instead === null
          ? await database.query("insert into mesh (root) values ($1) on conflict do nothing", [root])
          : await database.query("update mesh set root = $1 where root = $2", [root, instead]);
      return count > 0;
    },

    async admit(id, admission) {
      await database.query("update nodes set admission = $2::jsonb where id = $1", [id, JSON.stringify(admission)]);
    },

    async enter({ root, own, admission, records, revocations }) {
      await database.transaction(async (tx) => {
        await tx.query("delete from nodes n where not exists (select from leases l where l.name = 'node:' || n.id)");
        await tx.query("delete from revocations");
        await tx.query(
          "insert into mesh (root) values ($1) on conflict (only_row) do update set root = excluded.root",
          [root],
        );
        await saveRecords(tx, records);
        await saveRevocations(tx, revocations);
        await tx.query("update nodes set admission = $2::jsonb where id = $1", [own, JSON.stringify(admission)]);
      });
    },

    async leave(goodbye) {
      await database.transaction(async (tx) => {
        await tx.query("delete from nodes n where not exists (select from leases l where l.name = 'node:' || n.id)");
        await tx.query("update nodes set admission = null");
        await tx.query("delete from mesh");
        await tx.query("delete from revocations");
        await tx.query("delete from join_tokens");
        await saveRevocations(tx, [goodbye]);
      });
    },

    async prune(now) {
      // As text: a node may say a time that the database cannot read.
      const { rows } = await database.query<{ id: string; made_at: string }>(
        `/* nodes:silent */ select n.id, n.entry ->> 'made_at' as made_at from nodes n
         where not exists (
           select from leases l where l.name = 'node:' || n.id and l.expires_at >= now() - interval '30 days')`,
      );
      const forgotten = rows.filter(({ made_at }) => isForgotten({ made_at }, now)).map(({ id }) => id);
      if (forgotten.length > 0) await database.query("delete from nodes where id = any($1::text[])", [forgotten]);
    },
  };
}

/** The first node of a mesh needs nobody's word. */
function admissionOf(entry: NodeEntry, admission: Admission | null, root: string): Admission | null {
  const chain = entry.id === root ? [] : admission;
  return chain !== null && isChainGenuine(entry.public_key, chain, root) ? chain : null;
}

async function saveRecords(tx: Queryable, records: readonly MeshRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.query(
    `/* nodes:merge */ insert into nodes (id, version, entry, admission)
     select r -> 'entry' ->> 'id', (r -> 'entry' ->> 'version')::bigint, r -> 'entry', r -> 'admission'
     from jsonb_array_elements($1::jsonb) r
     on conflict (id) do update set version = excluded.version, entry = excluded.entry, admission = excluded.admission
     where nodes.version < excluded.version`,
    [JSON.stringify(records)],
  );
}

async function saveRevocations(tx: Queryable, revocations: readonly Revocation[]): Promise<void> {
  if (revocations.length === 0) return;
  await tx.query(
    `/* revocations:merge */ insert into revocations (node, revocation)
     select r ->> 'node', r from jsonb_array_elements($1::jsonb) r
     on conflict (node) do update set revocation = excluded.revocation`,
    [JSON.stringify(revocations)],
  );
}
