/**
 * The exchange between members with databases of their own: each round with a few of them, each exchange in both directions. It
 * carries who is a member, who is none any more, and heartbeats.
 */

import { CairnError } from "../../contracts/errors.ts";
import type { Gossip, MeshRecord, Revocation } from "../../contracts/membership.ts";
import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { chooseMembers, digestOf, missingAt, sample } from "../../domain/mesh/gossip.ts";
import type { LivenessTable } from "../../domain/mesh/liveness.ts";
import { merge } from "../../domain/mesh/merge.ts";
import { isForgotten } from "../../domain/mesh/node-entry.ts";
import { gossipSchema, MAX_NEWS_BYTES, MAX_RECORDS, revocationSchema } from "../../files/mesh-schema.ts";
import type { StoredMesh } from "./mesh-store.ts";
import type { MeshView } from "./mesh-view.ts";

/** Requests to other nodes. Each accepts only a certificate that is pinned; they reject as the client of a node does. */
export interface MeshCalls {
  /** As this node. `url`: where it is reached. */
  gossip(to: NodeEntry, url: string, body: Gossip, signal: AbortSignal): Promise<unknown>;
  /** Fingerprint of the certificate that is shown at the address; nothing is sent there. */
  certificateAt(url: string, signal: AbortSignal): Promise<string>;
  join(url: string, pins: readonly string[], body: object, signal: AbortSignal): Promise<unknown>;
  /** Null where the node knows of none. */
  revocation(to: NodeEntry, url: string, node: string, signal: AbortSignal): Promise<unknown>;
}

export interface GossipDeps {
  readonly view: MeshView;
  readonly own: string;
  readonly calls: MeshCalls;
  readonly liveness: LivenessTable;
  /** Addresses of `mesh.seeds`, as URLs. */
  readonly seeds: readonly string[];
  /** Where the local network says that a node is; null: it does not. */
  readonly foundAt: (id: string) => string | null;
  readonly clock: Clock;
  /** Below 1. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Another node knows a later entry, or a later beat, of this node: it has been restored from a copy. */
  onBehind(version: number): Promise<void>;
}

export interface Gossiping {
  /** The answer to what another member tells. */
  answer(received: Gossip): Promise<Gossip>;
  /** One heartbeat: raises the own beat, and exchanges with some. */
  round(signal: AbortSignal): Promise<void>;
  /** Tells these members of a revocation at once. Number of those that have it. */
  spread(revocation: Revocation, to: readonly NodeEntry[], signal: AbortSignal): Promise<number>;
  /** Nothing that was told yet: the beat counts from the beginning. */
  restart(): void;
  /** Why members refused this node in the last round; null: none did. */
  refusal(): string | null;
}

const CALL_MS = 5_000;
const NEWS = { records: MAX_RECORDS, bytes: MAX_NEWS_BYTES } as const;

export function createGossip(deps: GossipDeps): Gossiping {
  const { view, own, calls, liveness, clock, logger } = deps;
  let beat = 0;
  /** Once a round: a member that goes on telling of beats that were not made must not keep this node writing. */
  let hasCaughtUp = false;
  const complaints = new Map<string, string>();
  let refused: string | null = null;

  const beatOf = (id: string, version: number): number => (id === own ? beat : liveness.beatOf(id, version));

  /** What is here after what was told. */
  async function take(received: Gossip): Promise<StoredMesh> {
    const seen = await view.current();
    const here = seen.mesh.records.get(own)?.entry.version;
    // Under another version it is a claim only: the signed entry follows, and counts.
    const isBehind = received.digest.some(([id, version, heard]) => id === own && version === here && heard > beat);
    if (isBehind && !hasCaughtUp) {
      hasCaughtUp = true;
      await deps.onBehind(here ?? 0);
    }
    const fresh = received.records.filter(({ entry }) => !isForgotten(entry, clock.now()));
    const changes = merge(seen.mesh, { records: fresh, revocations: received.revocations }, own);
    if (changes.refused.length > 0)
      logger.debug({ nodes: changes.refused }, "entries that were told of are no members'");
    if (changes.ownVersion !== null && changes.ownVersion > (seen.mesh.records.get(own)?.entry.version ?? 0))
      await deps.onBehind(changes.ownVersion);
    const isChanged = changes.records.length + changes.revocations.length + changes.removed.length > 0;
    if (isChanged) report(changes.records, changes.revocations, seen);
    const after = isChanged ? await view.save(changes) : seen;
    hear(received.digest, after);
    return after;
  }

  /** Under a version that no entry here has, a beat is nobody's: one of a version that never comes would silence the node for good. */
  function hear(digest: Gossip["digest"], { mesh }: StoredMesh): void {
    const now = clock.monotonic();
    for (const row of digest)
      if (row[0] !== own && mesh.records.get(row[0])?.entry.version === row[1]) liveness.hear(row, now);
  }

  function report(records: readonly MeshRecord[], revocations: readonly Revocation[], before: StoredMesh): void {
    for (const { entry } of records)
      if (!before.mesh.records.has(entry.id))
        logger.info({ node: entry.id, name: entry.name }, "a node has joined the mesh");
    for (const { node } of revocations) logger.warn({ node }, "a node is no member of the mesh any more");
  }

  function messageFor(other: Pick<Gossip, "digest" | "revoked">, { mesh }: StoredMesh): Gossip {
    return { ...digestOf(mesh, beatOf), ...missingAt(other, mesh, NEWS, deps.random) };
  }

  async function exchange(to: NodeEntry, url: string, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const seen = await view.current();
    const asked = { ...digestOf(seen.mesh, beatOf), records: [], revocations: [] };
    const received = gossipSchema.parse(await calls.gossip(to, url, asked, deadline));
    const after = await take(received);
    const missing = messageFor(received, after);
    if (missing.records.length + missing.revocations.length > 0) await calls.gossip(to, url, missing, deadline);
  }

  /** What the local network says counts where the certificate shows that the node is the one: everybody there may say it. */
  const foundAt = (entry: NodeEntry): string | null => (pinsOf(entry).length > 0 ? deps.foundAt(entry.id) : null);

  /** The address that it names; where that fails, every other time the one that the local network names. */
  function addressOf(entry: NodeEntry): string | null {
    const { id, address: named } = entry;
    const found = foundAt(entry);
    return named === null || (found !== null && complaints.has(id) && deps.random() < 0.5) ? found : named;
  }

  /** Why it failed is logged once, until it works again. */
  async function tryExchange(to: NodeEntry, url: string, signal: AbortSignal): Promise<"done" | "refused" | "failed"> {
    try {
      await exchange(to, url, signal);
      complaints.delete(to.id);
      return "done";
    } catch (error) {
      if (signal.aborted) return "failed";
      const about = error instanceof Error ? error.message : String(error);
      if (complaints.get(to.id) !== about)
        logger.info({ node: to.id, name: to.name, reason: about }, "a member could not be reached");
      complaints.set(to.id, about);
      if (!isRefusal(error)) return "failed";
      await askWhy(to, url, signal);
      return "refused";
    }
  }

  /** It may have been revoked while it was off: who refuses it can show that. */
  async function askWhy(to: NodeEntry, url: string, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const said = await calls.revocation(to, url, own, deadline).catch(() => null);
    const revocation = revocationSchema.safeParse(said);
    if (!revocation.success || revocation.data.node !== own) return;
    await take({ digest: [], revoked: [], records: [], revocations: [revocation.data] });
  }

  /** The member that is at a seed's address: by its certificate, since an address makes nobody a member. */
  async function atSeed(seed: string, { mesh, nodes }: StoredMesh, signal: AbortSignal): Promise<NodeEntry | null> {
    const named = nodes.find(({ entry, shared }) => !shared && entry.address === seed)?.entry;
    if (named !== undefined) return named;
    try {
      const shown = await calls.certificateAt(seed, AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]));
      const found = [...mesh.records.values()].find(({ entry }) => pinsOf(entry).includes(shown))?.entry;
      if (found === undefined) throw new Error("its certificate is that of no member");
      complaints.delete(seed);
      return found;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted && complaints.get(seed) !== reason) logger.warn({ seed, reason }, "a seed cannot be used");
      complaints.set(seed, reason);
      return null;
    }
  }

  return {
    async answer(received) {
      const seen = await take(received);
      return messageFor(received, seen);
    },

    async round(signal) {
      beat += 1;
      hasCaughtUp = false;
      const seen = await view.current();
      if (!seen.mesh.records.has(own)) return;
      const now = clock.monotonic();
      const remote = seen.nodes.filter(({ shared }) => !shared).map(({ entry }) => entry);
      const targets = new Map<string, { readonly entry: NodeEntry; readonly url: string }>();
      const add = (entry: NodeEntry | null, url: string | null): void => {
        if (entry !== null && url !== null && entry.id !== own) targets.set(entry.id, { entry, url });
      };
      const reachable = remote.filter((entry) => entry.address !== null || foundAt(entry) !== null);
      const candidates = reachable.map(({ id, status }) => ({
        id,
        liveness: status === "stopped" ? ("offline" as const) : liveness.stateOf(id, now),
      }));
      for (const id of chooseMembers(candidates, deps.random)) {
        const entry = seen.mesh.records.get(id)?.entry;
        if (entry !== undefined) add(entry, addressOf(entry));
      }
      const [seed] = sample(seen.mesh.records.size > 1 ? deps.seeds : [], 1, deps.random);
      if (seed !== undefined) add(await atSeed(seed, seen, signal), seed);
      const outcomes = await Promise.all(
        [...targets.values()].map(({ entry, url }) => tryExchange(entry, url, signal)),
      );
      const all = outcomes.length > 0 && outcomes.every((outcome) => outcome === "refused");
      refused = all ? "the other members refuse this node" : null;
    },

    async spread(revocation, to, signal) {
      const seen = await view.current();
      const body = { ...digestOf(seen.mesh, beatOf), records: [], revocations: [revocation] };
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      const received = await Promise.allSettled(
        to.map((entry) => calls.gossip(entry, entry.address ?? foundAt(entry) ?? "", body, deadline)),
      );
      return received.filter(({ status }) => status === "fulfilled").length;
    },

    restart() {
      beat = 0;
    },
    refusal: () => refused,
  };
}

export function pinsOf({ certificate_sha256, next_certificate_sha256 }: NodeEntry): readonly string[] {
  return [certificate_sha256, next_certificate_sha256].filter((pin) => pin !== null);
}

function isRefusal(error: unknown): boolean {
  return error instanceof CairnError && (error.status === 401 || error.status === 403);
}
