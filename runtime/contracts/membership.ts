/** What nodes that share no database tell each other about who is in the mesh (docs/mesh.md). */

import type { NodeEntry } from "./node-entry.ts";

/** Members that a mesh may have; more is refused as nonsense. */
export const MAX_MEMBERS = 5_000;
/** Half of them of nodes that are not known: the others are kept for members, so that one who makes many up keeps none of them in. */
export const MAX_REVOCATIONS = 2 * MAX_MEMBERS;

/** One countersignature: a member vouches for an id and a public key, as part of one mesh. Versions are not part of it. */
export interface Vouch {
  /** Of the member that vouches: Ed25519, as SPKI in DER, base64. */
  readonly public_key: string;
  /** Over the node, its public key and the first node of the mesh (domain/mesh/admission.ts), base64. */
  readonly signature: string;
}

/** From the node's own issuer to the first node of the mesh, each vouched for by the next. Empty: it is the first node. */
export type Admission = readonly Vouch[];

/** A node as members pass it on. */
export interface MeshRecord {
  readonly entry: NodeEntry;
  /** Beside the entry, not in it: it stays the same while the node signs new entries. */
  readonly admission: Admission;
}

/** Says for ever that a node is no member. Any member can make one, the node itself when it leaves, and each tells the others. */
export interface Revocation {
  /** Id of the revoked node. */
  readonly node: string;
  /** Id of the mesh's first node: it holds in this mesh only. */
  readonly root: string;
  /** Ids of those that the revoked node had vouched for until then, as far as the revoker knew: they stay. */
  readonly keeps: readonly string[];
  /** ISO 8601, by the revoker's clock; for people. */
  readonly at: string;
  /** Public key of the revoker, and how it was admitted itself. */
  readonly by: string;
  readonly admission: Admission;
  /** The revoker's, over the rest but its admission; base64. */
  readonly signature: string;
}

/** What a node knows of one member: the version of its entry, and the latest heartbeat under that version. */
export type DigestRow = readonly [id: string, version: number, beat: number];

/** One half of an exchange between two members. The other side answers with the same. */
export interface Gossip {
  readonly digest: readonly DigestRow[];
  /** Revoked nodes, each with the beginning of the signature of its revocation. */
  readonly revoked: readonly (readonly [id: string, mark: string])[];
  readonly records: readonly MeshRecord[];
  readonly revocations: readonly Revocation[];
}

/** What `mesh.json` holds. */
export interface MeshState {
  /** The first node of the mesh; null: the node has never been in one. */
  readonly root: string | null;
  readonly nodes: readonly NodeEntry[];
  /** By the id of the node. */
  readonly admissions: Readonly<Record<string, Admission>>;
  readonly revocations: readonly Revocation[];
}

/** What a token for joining says (contracts/join-token.ts). */
export interface JoinToken {
  /** URL of the member that made it. */
  readonly url: string;
  /** Id of that member. */
  readonly node: string;
  /** Fingerprints of the certificates that it shows now and next. */
  readonly pins: readonly string[];
  /** ISO 8601, by its clock. */
  readonly expires_at: string;
  /** 32 random bytes, base64url. */
  readonly secret: string;
}

/** The answer to who joined. */
export interface JoinAnswer {
  /** Id under which it was admitted. */
  readonly node_id: string;
  readonly admission: Admission;
  /** The members, the one that answers among them. */
  readonly nodes: readonly MeshRecord[];
  readonly revocations: readonly Revocation[];
}
