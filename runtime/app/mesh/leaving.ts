/** How a node ceases to be a member: it says goodbye, or another member revokes it. Both hold for its key for ever. */

import { RuntimeError } from "../../contracts/errors.ts";
import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import { type SigningKeys, vouchedForBy } from "../../domain/mesh/admission.ts";
import { sample } from "../../domain/mesh/gossip.ts";
import type { LivenessTable } from "../../domain/mesh/liveness.ts";
import { outranks, revoke } from "../../domain/mesh/revocation.ts";
import type { Gossiping } from "./gossip.ts";
import type { MeshStore, StoredMesh } from "./mesh-store.ts";
import { type MeshView, ownAdmission, remoteMembers, standingOf } from "./mesh-view.ts";

export interface Departure {
  readonly id: string;
  /** Null: this node does not know it. */
  readonly name: string | null;
  /** Members that know of it by now; the others hear of it from them. */
  readonly notified: number;
  /** Names of members that the node had admitted: they stay. */
  readonly admitted: readonly string[];
}

export interface Leaving {
  /**
   * Leaves, and gives up this node's key. RUNTIME_CONFLICT where other nodes share the database, and where no other member could be
   * told of it, unless it is forced.
   */
  leave(options: { readonly force: boolean }, signal: AbortSignal): Promise<Departure>;
  /** By id or name. RUNTIME_NOT_FOUND; RUNTIME_CONFLICT for this node itself, and for a name that several have. */
  revoke(idOrName: string, signal: AbortSignal): Promise<Departure>;
}

export interface LeavingDeps {
  readonly view: MeshView;
  readonly store: Pick<MeshStore, "leave">;
  readonly gossip: Pick<Gossiping, "spread">;
  readonly liveness: LivenessTable;
  readonly own: { readonly id: string; readonly name: string } & SigningKeys;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Removes the key from the disk: the next start makes another. */
  forgetIdentity(): Promise<void>;
}

/** Members that are told at once: they tell the others within a few rounds. */
const NOTIFIED_AT_ONCE = 8;

export function createLeaving(deps: LeavingDeps): Leaving {
  const { view, own, clock, logger } = deps;
  const now = () => clock.now().toISOString();

  /** Members with databases of their own that live, but for one. */
  function living(seen: StoredMesh, but: string): readonly NodeEntry[] {
    return remoteMembers(seen)
      .map(({ entry }) => entry)
      .filter(({ id, address }) => id !== but && address !== null)
      .filter(({ id }) => deps.liveness.stateOf(id, clock.monotonic()) !== "offline");
  }

  return {
    async leave({ force }, signal) {
      const seen = await view.refresh();
      const sharing = seen.nodes.filter(({ entry, shared, alive }) => shared && alive && entry.id !== own.id);
      if (sharing.length > 0) {
        const names = sharing.map(({ entry }) => entry.name).join(", ");
        throw new RuntimeError(
          "RUNTIME_CONFLICT",
          `This node shares its database with ${names}: there it is a member.`,
          {
            hint: `Stop it for good; \`cairn mesh revoke ${own.name}\` there then removes it.`,
          },
        );
      }
      const admission = ownAdmission(seen, own.id) ?? [];
      const keeps = vouchedForBy(own.id, seen.mesh.records.values());
      const goodbye = revoke({ node: own.id, keeps, at: now() }, own, admission);
      const isMember = standingOf(seen, own.id) === "member";
      const others = isMember ? living(seen, own.id) : [];
      const notified = await deps.gossip.spread(goodbye, sample(others, NOTIFIED_AT_ONCE, deps.random), signal);
      if (isMember && notified === 0 && !force) {
        throw new RuntimeError(
          "RUNTIME_CONFLICT",
          "No other member could be told that this node leaves: nothing was changed.",
          {
            hint: `Try again when one answers. --force leaves all the same; the others list it until \`cairn mesh revoke ${own.name}\` there removes it.`,
          },
        );
      }
      await deps.store.leave(goodbye);
      await deps.forgetIdentity();
      await view.refresh();
      logger.warn({ notified }, "this node has left its mesh; its next start has another identity");
      return { id: own.id, name: own.name, notified, admitted: namesOf(keeps, seen) };
    },

    async revoke(idOrName, signal) {
      const seen = await view.refresh();
      const admission = ownAdmission(seen, own.id);
      if (admission === null)
        throw new RuntimeError("RUNTIME_CONFLICT", "This node is no member: it can revoke nobody.");
      const entry = entryOf(seen, idOrName);
      const id = entry?.id ?? idOrName;
      if (id === own.id) {
        throw new RuntimeError("RUNTIME_CONFLICT", "A node does not revoke itself.", {
          hint: "`cairn mesh leave` takes it out of its mesh.",
        });
      }
      const keeps = vouchedForBy(id, seen.mesh.records.values());
      const made = revoke({ node: id, keeps, at: now() }, own, admission);
      const existing = seen.mesh.revocations.get(id);
      // Over a goodbye it has a use: the key may have been copied before the node left.
      const revocation = existing === undefined || outranks(made, existing) ? made : existing;
      await view.save({ records: [], revocations: [revocation], removed: [id] });
      // The revoked node as well: it says so then itself.
      const to = [...sample(living(seen, id), NOTIFIED_AT_ONCE, deps.random), ...(entry?.address ? [entry] : [])];
      const notified = await deps.gossip.spread(revocation, to, signal);
      logger.warn({ node: id, name: entry?.name, notified }, "a node was revoked");
      return { id, name: entry?.name ?? null, notified, admitted: namesOf(revocation.keeps, seen) };
    },
  };
}

/** Sorted; of those that are members. */
function namesOf(ids: readonly string[], { mesh }: StoredMesh): readonly string[] {
  return ids.flatMap((id) => mesh.records.get(id)?.entry.name ?? []).sort();
}

/** Null for the id of a node that is not known here. */
function entryOf({ nodes, mesh }: StoredMesh, idOrName: string): NodeEntry | null {
  const found = nodes.filter(({ entry }) => entry.id === idOrName || entry.name === idOrName);
  if (found.length > 1) {
    const ids = found.map(({ entry }) => entry.id).join(", ");
    throw new RuntimeError("RUNTIME_CONFLICT", `${found.length} nodes are named ${idOrName}: ${ids}.`, {
      hint: "Name the one that is meant by its id.",
    });
  }
  if (found[0] !== undefined) return found[0].entry;
  if (/^[0-9a-f]{32}$/.test(idOrName) || mesh.revocations.has(idOrName)) return null;
  throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no node named ${idOrName} in the mesh.`, {
    hint: "`cairn mesh list` shows all.",
  });
}
