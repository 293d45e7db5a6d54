/** Whom a node exchanges with in a round, and what it has to tell: a few members at a time, however many there are. Pure. */

import type { DigestRow, Gossip, MeshRecord, Revocation } from "../../contracts/membership.ts";
import type { Liveness } from "./liveness.ts";
import type { Mesh } from "./merge.ts";
import { markOf } from "./revocation.ts";

/** Members that a round goes to: all of a small mesh, and so many that news and beats reach all of a large one in time. */
export function fanout(members: number): number {
  return members <= 4 ? members : 3 + Math.ceil(Math.log2(members / 4) / 2);
}

export interface Candidate {
  readonly id: string;
  readonly liveness: Liveness;
}

/**
 * Ids for a round: members that live or are suspect, and one of those that are silent, so that two halves of a mesh find each other
 * again. `random` is below 1.
 */
export function chooseMembers(candidates: readonly Candidate[], random: () => number): readonly string[] {
  const unheard = candidates.filter(({ liveness }) => liveness === "offline");
  const others = candidates.filter(({ liveness }) => liveness !== "offline");
  const chosen = sample(others, fanout(others.length), random);
  return [...chosen, ...sample(unheard, 1, random)].map(({ id }) => id);
}

export function sample<T>(from: readonly T[], count: number, random: () => number): readonly T[] {
  const pool = [...from];
  const taken: T[] = [];
  while (taken.length < count && pool.length > 0) {
    const index = Math.floor(random() * pool.length);
    taken.push(...pool.splice(index, 1));
  }
  return taken;
}

/** What this node knows, in few bytes. */
export function digestOf(
  mesh: Mesh,
  beatOf: (id: string, version: number) => number,
): Pick<Gossip, "digest" | "revoked"> {
  const digest = [...mesh.records.values()].map(
    ({ entry }): DigestRow => [entry.id, entry.version, beatOf(entry.id, entry.version)],
  );
  const revoked = [...mesh.revocations.values()].map((revocation) => [revocation.node, markOf(revocation)] as const);
  return { digest, revoked };
}

/** Of one message. */
export interface NewsLimits {
  /** Records, and as many revocations. */
  readonly records: number;
  /** Of both, as JSON; the last one may exceed it. */
  readonly bytes: number;
}

/**
 * What the other side does not have yet, revocations first; the rest follows in later rounds. It begins anywhere, since the other
 * side may refuse some of it each time. `random` is below 1.
 */
export function missingAt(
  other: Pick<Gossip, "digest" | "revoked">,
  mesh: Mesh,
  limits: NewsLimits,
  random: () => number,
): { readonly records: readonly MeshRecord[]; readonly revocations: readonly Revocation[] } {
  const versions = new Map(other.digest.map(([id, version]) => [id, version]));
  const marks = new Map(other.revoked);
  let remaining = limits.bytes;
  function some<T>(items: readonly T[]): readonly T[] {
    const start = Math.floor(random() * items.length);
    const taken: T[] = [];
    for (const item of [...items.slice(start), ...items.slice(0, start)]) {
      if (taken.length === limits.records || remaining <= 0) break;
      remaining -= Buffer.byteLength(JSON.stringify(item));
      taken.push(item);
    }
    return taken;
  }
  const revocations = some([...mesh.revocations.values()].filter((one) => marks.get(one.node) !== markOf(one)));
  const records = some([...mesh.records.values()].filter(({ entry }) => (versions.get(entry.id) ?? 0) < entry.version));
  return { records, revocations };
}

/** Whether the other side knows something that is missing here. */
export function isBehind(other: Pick<Gossip, "digest" | "revoked">, mesh: Mesh): boolean {
  return (
    other.digest.some(([id, version]) => (mesh.records.get(id)?.entry.version ?? 0) < version) ||
    other.revoked.some(([id]) => !mesh.revocations.has(id))
  );
}
