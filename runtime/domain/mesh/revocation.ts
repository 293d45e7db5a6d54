/** Revocations of nodes: made, checked, and one chosen of several for the same node. Pure. */

import { sign } from "node:crypto";
import type { Admission, Revocation } from "../../contracts/membership.ts";
import { idOf, isChainGenuine, isSigned, rootOf, type SigningKeys, spkiOf } from "./admission.ts";

export function revoke(
  said: Pick<Revocation, "node" | "keeps" | "at">,
  by: SigningKeys,
  admission: Admission,
): Revocation {
  const key = spkiOf(by.publicKey);
  const revocation = { ...said, root: rootOf(key, admission), by: key };
  const signature = sign(null, revocationBytes(revocation), by.privateKey).toString("base64");
  return { ...revocation, admission, signature };
}

/**
 * Whether a member of this mesh made it; the node itself, where it leaves. A member that was revoked itself counts: what holds must not
 * depend on what a node heard first, or two halves of a mesh would never agree.
 */
export function isRevocationGenuine(revocation: Revocation, root: string): boolean {
  const { by, admission, signature } = revocation;
  if (revocation.root !== root) return false;
  return isSigned(revocationBytes(revocation), signature, by) && isChainGenuine(by, admission, root);
}

/** Whether the node has left by itself. */
export function isGoodbye({ node, by }: Pick<Revocation, "node" | "by">): boolean {
  return idOf(by) === node;
}

/**
 * Of two for the same node, the same one everywhere: the one that the node's key could less have a hand in; else that which keeps more,
 * else the one whose signature comes first. Else a revoked node could name those whom it admits afterwards among those who stay.
 */
export function preferRevocation(a: Revocation, b: Revocation): Revocation {
  if (outranks(a, b)) return a;
  if (outranks(b, a)) return b;
  if (a.keeps.length !== b.keeps.length) return a.keeps.length > b.keeps.length ? a : b;
  return a.signature <= b.signature ? a : b;
}

/** Whether `a` holds whatever `b` keeps. */
export function outranks(a: Revocation, b: Revocation): boolean {
  return independenceOf(a) > independenceOf(b);
}

/** 0: the node itself made it; 1: one that is a member by the node's word, which its key can make at any time; 2: another one. */
function independenceOf(revocation: Revocation): 0 | 1 | 2 {
  if (isGoodbye(revocation)) return 0;
  return revocation.admission.some(({ public_key: key }) => idOf(key) === revocation.node) ? 1 : 2;
}

/** Tells two revocations of a node apart, in few bytes. */
export function markOf({ signature }: Pick<Revocation, "signature">): string {
  return signature.slice(0, 12);
}

function revocationBytes({ node, root, keeps, at, by }: Omit<Revocation, "admission" | "signature">): Buffer {
  return Buffer.from(JSON.stringify({ use: "cairn-revocation-1", node, root, keeps, at, by }));
}
