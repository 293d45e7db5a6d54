/**
 * Who is a member: a node that a member has countersigned, back to the mesh's first node. A chain says so by itself, so that
 * nobody need be asked, or still be there. Pure.
 */

import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { Admission, MeshRecord, Revocation } from "../../contracts/membership.ts";
import { nodeIdOf } from "./node-entry.ts";

/** Longest chain that is accepted: of nodes that were admitted one by the other. */
export const MAX_CHAIN = 16;

export interface SigningKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The admission of a node by a member, whose own admission is `own`. */
export function admit(publicKey: string, issuer: SigningKeys, own: Admission): Admission {
  const issuerKey = spkiOf(issuer.publicKey);
  const root = rootOf(issuerKey, own);
  const signature = sign(null, vouchBytes(publicKey, root), issuer.privateKey).toString("base64");
  return [{ public_key: issuerKey, signature }, ...own];
}

/** Id of the first node of the mesh that this chain ends in. Says nothing about whether the chain is genuine. */
export function rootOf(publicKey: string, admission: Admission): string {
  return idOf(admission.at(-1)?.public_key ?? publicKey) ?? "";
}

/** Whether every link was signed by the member that it names, for this mesh. Revocations are another question. */
export function isChainGenuine(publicKey: string, admission: Admission, root: string): boolean {
  if (admission.length > MAX_CHAIN || rootOf(publicKey, admission) !== root) return false;
  let subject = publicKey;
  for (const vouch of admission) {
    if (!isSigned(vouchBytes(subject, root), vouch.signature, vouch.public_key)) return false;
    subject = vouch.public_key;
  }
  return true;
}

/**
 * Whether no revocation speaks against a genuine chain: the node is not revoked itself, and where one that vouched is, its
 * revocation keeps whom it vouched for. So a stolen key admits nobody once it is revoked, and revoking a node does not break up the mesh.
 */
export function isUnrevoked(
  publicKey: string,
  admission: Admission,
  revocations: ReadonlyMap<string, Pick<Revocation, "keeps">>,
): boolean {
  if (revocations.size === 0) return true;
  let subject = idOf(publicKey);
  if (subject === null || revocations.has(subject)) return false;
  for (const { public_key: key } of admission) {
    const issuer = idOf(key);
    if (issuer === null) return false;
    const revocation = revocations.get(issuer);
    if (revocation !== undefined && !revocation.keeps.includes(subject)) return false;
    subject = issuer;
  }
  return true;
}

/** Ids of those for whom the node has vouched in these chains: what its revocation keeps. Sorted. */
export function vouchedForBy(node: string, records: Iterable<MeshRecord>): readonly string[] {
  const found = new Set<string>();
  for (const { entry, admission } of records) {
    let subject = entry.id;
    for (const { public_key: key } of admission) {
      const issuer = idOf(key) ?? "";
      if (issuer === node) found.add(subject);
      subject = issuer;
    }
  }
  return [...found].sort();
}

/** Ed25519 as SPKI in DER, base64. */
export function spkiOf(publicKey: KeyObject): string {
  return publicKey.export({ type: "spki", format: "der" }).toString("base64");
}

/** Id of the node with this key; null for what is no such key. */
export function idOf(publicKey: string): string | null {
  try {
    return nodeIdOf(createPublicKey({ key: Buffer.from(publicKey, "base64"), type: "spki", format: "der" }));
  } catch {
    return null;
  }
}

/** Whether the owner of the key signed the bytes. False for what is no Ed25519 key. */
export function isSigned(bytes: Buffer, signature: string, publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, "base64"), type: "spki", format: "der" });
    return key.asymmetricKeyType === "ed25519" && verify(null, bytes, key, Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}

/** Names its use: a signature for one thing is none for another. The mesh is part of it, so that no chain goes on in another one. */
function vouchBytes(publicKey: string, root: string): Buffer {
  return Buffer.from(JSON.stringify({ use: "cairn-admission-1", node: idOf(publicKey), public_key: publicKey, root }));
}
