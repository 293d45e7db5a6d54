/**
 * Merging what two nodes know of the mesh. What comes out depends on what was heard, not on the order or on how often: nodes
 * that have heard the same know the same, but for what is beyond the bounds of a mesh. Pure.
 */

import { MAX_MEMBERS, MAX_REVOCATIONS, type MeshRecord, type Revocation } from "../../contracts/membership.ts";
import { isChainGenuine, isUnrevoked } from "./admission.ts";
import { isGenuine } from "./node-entry.ts";
import { isRevocationGenuine, preferRevocation } from "./revocation.ts";

/** Members and revocations of one mesh, by id. */
export interface Mesh {
  /** Id of its first node. */
  readonly root: string;
  readonly records: ReadonlyMap<string, MeshRecord>;
  readonly revocations: ReadonlyMap<string, Revocation>;
}

/** What a merge has changed: to be stored, and to be told on. */
export interface Changes {
  readonly records: readonly MeshRecord[];
  readonly revocations: readonly Revocation[];
  /** Ids of those that are no members any more. */
  readonly removed: readonly string[];
  /** Ids that were told of and have no place here: not signed by their node, not admitted, revoked, or more than a mesh may have. */
  readonly refused: readonly string[];
  /**
   * Version of an entry of `own` that is higher than the one here: it has been restored from a copy, and takes up that version
   * plus one. Null: none was.
   */
  readonly ownVersion: number | null;
}

/** `own`: the node that merges. Nobody else's word about it is taken, but it learns of its own higher version. */
export function merge(
  mesh: Mesh,
  received: { readonly records: readonly MeshRecord[]; readonly revocations: readonly Revocation[] },
  own: string,
): Changes {
  const revocations = new Map(mesh.revocations);
  const newRevocations = new Map<string, Revocation>();
  for (const revocation of received.revocations) {
    const existing = revocations.get(revocation.node);
    if (existing?.signature === revocation.signature) continue;
    if (existing !== undefined && preferRevocation(existing, revocation) === existing) continue;
    const most = mesh.records.has(revocation.node) ? MAX_REVOCATIONS : MAX_MEMBERS;
    if (existing === undefined && revocations.size >= most) continue;
    if (!isRevocationGenuine(revocation, mesh.root)) continue;
    revocations.set(revocation.node, revocation);
    newRevocations.set(revocation.node, revocation);
  }

  const records = new Map(mesh.records);
  const changed = new Map<string, MeshRecord>();
  const refused = new Set<string>();
  let ownVersion: number | null = null;
  for (const record of received.records) {
    const { entry, admission } = record;
    const existing = records.get(entry.id);
    // What is no newer costs no check of signatures.
    if (existing !== undefined && existing.entry.version >= entry.version) continue;
    if (!isGenuine(entry)) {
      refused.add(entry.id);
      continue;
    }
    if (entry.id === own) {
      ownVersion = Math.max(entry.version, ownVersion ?? 0);
      continue;
    }
    // The chain that is here goes on to hold: a relay cannot take it away.
    const kept = existing !== undefined && isUnrevoked(entry.public_key, existing.admission, revocations);
    const chain = kept ? existing.admission : admission;
    const admitted =
      isUnrevoked(entry.public_key, chain, revocations) && (kept || isChainGenuine(entry.public_key, chain, mesh.root));
    if (!admitted) {
      refused.add(entry.id);
      continue;
    }
    if (existing === undefined && records.size >= MAX_MEMBERS) {
      refused.add(entry.id);
      continue;
    }
    const merged = { entry, admission: chain };
    records.set(entry.id, merged);
    changed.set(entry.id, merged);
  }

  const removed: string[] = [];
  if (newRevocations.size > 0) {
    for (const { entry, admission } of records.values()) {
      if (entry.id === own || isUnrevoked(entry.public_key, admission, revocations)) continue;
      removed.push(entry.id);
      changed.delete(entry.id);
    }
  }
  const values = [...changed.values()];
  return { records: values, revocations: [...newRevocations.values()], removed, refused: [...refused], ownVersion };
}

/** The mesh with the changes. */
export function applied(mesh: Mesh, changes: Pick<Changes, "records" | "revocations" | "removed">): Mesh {
  const records = new Map(mesh.records);
  for (const record of changes.records) records.set(record.entry.id, record);
  for (const id of changes.removed) records.delete(id);
  const revocations = new Map(mesh.revocations);
  for (const revocation of changes.revocations) revocations.set(revocation.node, revocation);
  return { root: mesh.root, records, revocations };
}
