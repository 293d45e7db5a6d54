/** Signing and checking what a node says of itself. Pure. */

import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { Member, MemberState, NodeEntry } from "../../contracts/node-entry.ts";

/** The fingerprint of a public key, which is the id of its node. */
export function nodeIdOf(publicKey: KeyObject): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")
    .slice(0, 32);
}

export function makeEntry(
  said: Omit<NodeEntry, "id" | "public_key" | "signature">,
  keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
): NodeEntry {
  const entry = {
    ...said,
    id: nodeIdOf(keys.publicKey),
    public_key: keys.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
  };
  return { ...entry, signature: sign(null, signedBytes(entry), keys.privateKey).toString("base64") };
}

/** Whether the node with this id made the entry. */
export function isGenuine(entry: NodeEntry): boolean {
  try {
    const der = Buffer.from(entry.public_key, "base64");
    const publicKey = createPublicKey({ key: der, type: "spki", format: "der" });
    const isOwn = publicKey.asymmetricKeyType === "ed25519" && nodeIdOf(publicKey) === entry.id;
    return isOwn && verify(null, signedBytes(entry), publicKey, Buffer.from(entry.signature, "base64"));
  } catch {
    // A key that is none.
    return false;
  }
}

/** All but the signature, as JSON with its keys in the order of the alphabet: a store may return them in another one. */
function signedBytes(entry: Omit<NodeEntry, "signature">): Buffer {
  const fields = Object.entries(entry).filter(([name]) => name !== "signature");
  return Buffer.from(JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** `alive`: its lease has not run out. */
export function memberState(entry: Pick<NodeEntry, "status">, alive: boolean): MemberState {
  const { status } = entry;
  if (alive) return status === "draining" ? "draining" : "online";
  return status === "stopped" ? "stopped" : "offline";
}

/** Of a node with a database of its own, which is known by its heartbeats alone. What it said last counts until it is silent. */
export function remoteState(
  { status }: Pick<NodeEntry, "status">,
  liveness: "alive" | "suspect" | "offline",
): MemberState {
  if (status === "stopped") return "stopped";
  return liveness === "alive" ? status : liveness;
}

/** Milliseconds without a new entry after which a node is forgotten. */
export const FORGET_MS = 30 * 24 * 3_600_000;
/** A node that lives signs its entry again after so long, so that an entry's age says whether it is still there. */
export const RESIGN_MS = 7 * 24 * 3_600_000;

/**
 * Whether the node has not said anything for a month: by its own clock, which may be days off without harm. A time to come counts as
 * one that is past, or an entry could be one that is never forgotten.
 */
export function isForgotten({ made_at: madeAt }: Pick<NodeEntry, "made_at">, now: Date): boolean {
  // A time that is none is one of long ago.
  return !(Math.abs(Date.parse(madeAt) - now.getTime()) < FORGET_MS);
}

/** By name, then id: the same order everywhere. */
export function byName(a: Pick<Member, "entry">, b: Pick<Member, "entry">): number {
  const key = ({ entry }: Pick<Member, "entry">): string => `${entry.name} ${entry.id}`;
  return key(a) < key(b) ? -1 : 1;
}
