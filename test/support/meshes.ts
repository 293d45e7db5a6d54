/** Nodes of a mesh in memory: their keys, entries and countersignatures. */

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Admission, MeshRecord, Revocation } from "../../runtime/contracts/membership.ts";
import type { NodeEntry } from "../../runtime/contracts/node-entry.ts";
import { admit, spkiOf, vouchedForBy } from "../../runtime/domain/mesh/admission.ts";
import type { Mesh } from "../../runtime/domain/mesh/merge.ts";
import { nodeIdOf } from "../../runtime/domain/mesh/node-entry.ts";
import { revoke } from "../../runtime/domain/mesh/revocation.ts";
import { entryOf } from "./node-entries.ts";

export interface TestNode {
  readonly id: string;
  readonly name: string;
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly admission: Admission;
  record(version?: number, said?: Partial<NodeEntry>): MeshRecord;
  /** A node that this one has admitted. */
  admits(name: string): TestNode;
  revokes(node: string, records?: Iterable<MeshRecord>): Revocation;
}

export function firstNode(name = "first"): TestNode {
  return nodeWith(name, generateKeyPairSync("ed25519"), []);
}

export function nodeWith(name: string, keys: TestNode["keys"], admission: Admission): TestNode {
  return {
    id: nodeIdOf(keys.publicKey),
    name,
    keys,
    admission,
    record: (version = 1, said = {}) => ({ entry: entryOf(keys, { name, version, ...said }), admission }),
    admits(other) {
      const otherKeys = generateKeyPairSync("ed25519");
      return nodeWith(other, otherKeys, admit(spkiOf(otherKeys.publicKey), keys, admission));
    },
    revokes: (node, records = []) =>
      revoke({ node, keeps: vouchedForBy(node, records), at: "2026-01-01T00:00:00.000Z" }, keys, admission),
  };
}

export function meshOf(
  root: TestNode,
  records: readonly MeshRecord[] = [],
  revocations: readonly Revocation[] = [],
): Mesh {
  return {
    root: root.id,
    records: new Map(records.map((record) => [record.entry.id, record])),
    revocations: new Map(revocations.map((revocation) => [revocation.node, revocation])),
  };
}
