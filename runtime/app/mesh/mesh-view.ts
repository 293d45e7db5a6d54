/** What this node knows of its mesh, in memory: read anew at every look and after every change of its own. */

import type { Standing } from "../../contracts/health-report.ts";
import type { Admission } from "../../contracts/membership.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { admit, type SigningKeys, spkiOf } from "../../domain/mesh/admission.ts";
import type { LivenessTable } from "../../domain/mesh/liveness.ts";
import type { Changes } from "../../domain/mesh/merge.ts";
import { isGoodbye } from "../../domain/mesh/revocation.ts";
import type { MeshStore, StoredMesh, StoredNode } from "./mesh-store.ts";

export interface MeshView {
  /** As of the last look; the first call looks. */
  current(): Promise<StoredMesh>;
  refresh(): Promise<StoredMesh>;
  save(changes: Pick<Changes, "records" | "revocations" | "removed">): Promise<StoredMesh>;
  /** Founds a mesh where there is none, and countersigns the nodes that have registered in this database. */
  reconcile(): Promise<StoredMesh>;
}

export interface MeshViewDeps {
  readonly store: MeshStore;
  readonly own: { readonly id: string } & SigningKeys;
  readonly liveness: LivenessTable;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createMeshView({ store, own, liveness, clock, logger }: MeshViewDeps): MeshView {
  let cached: StoredMesh | null = null;

  async function refresh(): Promise<StoredMesh> {
    const before = cached;
    cached = await store.read(clock.now());
    const now = clock.monotonic();
    for (const id of cached.mesh.records.keys()) liveness.expect(id, now);
    for (const id of before?.mesh.records.keys() ?? []) if (!cached.mesh.records.has(id)) liveness.forget(id);
    return cached;
  }

  return {
    current: async () => cached ?? refresh(),
    refresh,
    async save(changes) {
      await store.save(changes);
      return refresh();
    },
    async reconcile() {
      const seen = await refresh();
      if (seen.mesh.revocations.has(own.id)) return seen;
      if (seen.root === null) {
        await store.found(own.id);
        return refresh();
      }
      const admission = ownAdmission(seen, own.id);
      if (admission === null) {
        if (!isAbandoned(seen, own.id)) return seen;
        await store.found(own.id, seen.root);
        return refresh();
      }
      const waiting = seen.nodes.filter((node) => node.shared && node.admission === null);
      if (waiting.length === 0) return seen;
      for (const { entry } of waiting) {
        await store.admit(entry.id, admit(entry.public_key, own, admission));
        logger.info({ node: entry.id, name: entry.name }, "a node that shares the database is a member of the mesh");
      }
      return refresh();
    },
  };
}

/** Null: this node is no member, or not yet. */
export function ownAdmission({ mesh }: StoredMesh, own: string): Admission | null {
  return mesh.records.get(own)?.admission ?? null;
}

export function standingOf(seen: StoredMesh, own: string): Standing {
  const revocation = seen.mesh.revocations.get(own);
  if (revocation !== undefined) return isGoodbye(revocation) ? "left" : "revoked";
  if (ownAdmission(seen, own) === null) return "waiting";
  return seen.mesh.records.size > 1 ? "member" : "alone";
}

/** Those with databases of their own. */
export function remoteMembers({ nodes }: StoredMesh): readonly StoredNode[] {
  return nodes.filter(({ shared }) => !shared);
}

/** The mesh of this database has no member elsewhere, and none here that could countersign this node: nothing is lost by a new one. */
function isAbandoned(seen: StoredMesh, own: string): boolean {
  return !seen.nodes.some(
    ({ entry, shared, alive, admission }) => entry.id !== own && admission !== null && (!shared || alive),
  );
}

/** As the node writes it into the vouches that it makes. */
export function ownKey(own: SigningKeys): string {
  return spkiOf(own.publicKey);
}
