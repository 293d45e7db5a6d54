/**
 * This node as a member: it writes what it is, whenever that changes, exchanges with members that have databases of their own, and
 * keeps a copy of what it knows in its home directory.
 */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import type { MeshMembership } from "../app/api.ts";
import { createGossip, type MeshCalls } from "../app/mesh/gossip.ts";
import { createJoinTokens } from "../app/mesh/join-tokens.ts";
import { createJoining } from "../app/mesh/joining.ts";
import { createLeaving } from "../app/mesh/leaving.ts";
import { createMeshStore, type StoredMesh } from "../app/mesh/mesh-store.ts";
import { createMeshView, standingOf } from "../app/mesh/mesh-view.ts";
import { createNodeRegistry, liveReaders, type NodeRegistry } from "../app/mesh/registry.ts";
import { latestMigration, SCHEMA_LOCK, withSchemaHeld } from "../app/migrate.ts";
import type { Database, Queryable } from "../contracts/database.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";
import type { MeshReport } from "../contracts/health-report.ts";
import type { NodeEntry, NodeStatus } from "../contracts/node-entry.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { assertWithinSkew } from "../contracts/version-skew.ts";
import { LivenessTable } from "../domain/mesh/liveness.ts";
import { makeEntry, RESIGN_MS } from "../domain/mesh/node-entry.ts";
import { createTicker } from "../workers/ticker.ts";
import type { NodeIdentity } from "./identity.ts";
import { joinAtStart } from "./join-at-start.ts";
import { createMeshCopy, restoreMesh } from "./mesh-copy.ts";
import type { Service } from "./services.ts";

export interface MembershipDeps {
  readonly identity: NodeIdentity;
  readonly database: Database;
  /** Directory of the SQL files. */
  readonly migrations: string;
  /** What of the node does not change while it runs. */
  readonly said: Pick<NodeEntry, "release" | "address" | "agents">;
  isDraining(): boolean;
  readonly paths: {
    /** `mesh.json`. */
    readonly meshFile: string;
    /** A token that the next start joins with, which it removes. */
    readonly joinFile: string;
    readonly nodeKey: string;
  };
  /** Null where `mesh.enabled` is off: it registers in its database, and talks to no other node. */
  readonly mesh: {
    readonly heartbeatMs: number;
    /** As URLs. */
    readonly seeds: readonly string[];
    readonly calls: MeshCalls;
    readonly foundAt: (id: string) => string | null;
  } | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Membership {
  readonly registry: NodeRegistry;
  /** For routes and commands. */
  readonly control: MeshMembership;
  readonly service: Service;
  /** Rejects when this node must not go on; pending else. */
  readonly unfit: Promise<never>;
  /** Fingerprints of the certificate that it shows and of the one that follows it; null without. Before its start. */
  shows(certificate: string | null, next: string | null): void;
  /** Whether it is drained has changed. */
  notify(): void;
  /** Forgets what is over. */
  prune(): Promise<void>;
  /**
   * After its lease had run out. MEMORY_SCHEMA_MISMATCH where the schema has become one meanwhile that it cannot work with,
   * RUNTIME_VERSION_SKEW where the fleet has gone on to a release too far from its own: it is unfit.
   */
  onReturn(): Promise<void>;
}

const INTERVAL_MS = 15_000;
/** The number after SCHEMA_LOCK. */
const JOIN_LOCK = SCHEMA_LOCK + 1;

export function createMembership(deps: MembershipDeps): Membership {
  const { identity, database, migrations, paths, mesh, clock, logger } = deps;
  const liveness = new LivenessTable(
    mesh ? { suspectMs: 3 * mesh.heartbeatMs, offlineMs: 6 * mesh.heartbeatMs } : undefined,
  );
  const store = createMeshStore({ database, logger });
  const view = createMeshView({ store, own: identity, liveness, clock, logger });
  const livenessOf = (id: string) => liveness.stateOf(id, clock.monotonic());
  const registry = createNodeRegistry({ database, store, view, livenessOf, clock });
  const tokens = createJoinTokens(database);
  const copy = createMeshCopy({ file: paths.meshFile, clock, logger });
  const unfit = Promise.withResolvers<never>();
  unfit.promise.catch(() => undefined);
  let shown: Pick<NodeEntry, "certificate_sha256" | "next_certificate_sha256"> = {
    certificate_sha256: null,
    next_certificate_sha256: null,
  };
  let schema = 0;
  let published: NodeEntry | null = null;
  /** Path of a copy that could not be read at the start. */
  let aside: string | null = null;
  let joinFailure: string | null = null;

  const entryOf = (status: NodeStatus) => (version: number) =>
    makeEntry(
      { ...deps.said, name: identity.name, version, schema, ...shown, status, made_at: clock.now().toISOString() },
      identity,
    );
  const statusNow = (): NodeStatus => (deps.isDraining() ? "draining" : "online");

  /** RUNTIME_VERSION_SKEW. One after the other: of two that come at once, one sees the other. */
  async function assertMayServe(tx: Queryable): Promise<void> {
    await tx.query("select pg_advisory_xact_lock($1)", [JOIN_LOCK]);
    assertWithinSkew(deps.said.release, await liveReaders(tx, identity.id));
  }

  async function publish(status: NodeStatus, above?: number): Promise<NodeEntry> {
    published = await registry.publish(entryOf(status), database, above);
    gossip.restart();
    return published;
  }

  const gossip = createGossip({
    view,
    own: identity.id,
    calls: mesh?.calls ?? NO_CALLS,
    liveness,
    seeds: mesh?.seeds ?? [],
    foundAt: mesh?.foundAt ?? (() => null),
    clock,
    random: Math.random,
    logger,
    async onBehind(version) {
      logger.warn({ version }, "members know a later entry of this node: it takes up its version");
      await publish(statusNow(), version);
      await view.refresh();
    },
  });
  const joining = createJoining({
    view,
    store,
    tokens,
    calls: mesh?.calls ?? NO_CALLS,
    own: identity,
    ownEntry: async () => published ?? publish(statusNow()),
    newSecret: () => randomBytes(32).toString("base64url"),
    async living() {
      const members = await registry.members();
      return members.filter(({ state }) => state !== "offline" && state !== "stopped").map(({ entry }) => entry);
    },
    logger,
    onAdmitted: ({ id, version }) => liveness.hear([id, version, 0], clock.monotonic()),
    async onEntered() {
      await publish(statusNow());
      await refresh();
      rounds.notify();
    },
  });
  const leaving = createLeaving({
    view,
    store,
    gossip,
    liveness,
    own: identity,
    clock,
    random: Math.random,
    logger,
    forgetIdentity: () => rm(paths.nodeKey, { force: true }),
  });

  async function refresh(): Promise<void> {
    const status = statusNow();
    const age = clock.now().getTime() - Date.parse(published?.made_at ?? "");
    // Also one of a time to come, which was made before the clock was set.
    if (status !== published?.status || !(Math.abs(age) < RESIGN_MS)) await publish(status);
    const seen = mesh ? await view.reconcile() : await view.refresh();
    const problem = assertFit(seen);
    if (problem !== null) unfit.reject(problem);
    await copy.write(seen);
  }

  /** Its server answers while the schema is still being made. */
  function started<T>(work: () => Promise<T>): Promise<T> {
    return enabled(mesh, async () => {
      if (published !== null) return work();
      throw new RuntimeError("RUNTIME_NOT_READY", "This node is starting: its database is not ready yet.", {
        hint: "Try again when `cairn status` says that it is healthy.",
      });
    });
  }

  let wasRevoked = false;
  /** Nodes that share its database have revoked it: it must not work on that. With a database of its own it says so, and runs on. */
  function assertFit(seen: StoredMesh): RuntimeError | null {
    if (standingOf(seen, identity.id) !== "revoked") return null;
    if (!wasRevoked)
      logger.error({ node: identity.id }, "this node was revoked: no member of the mesh accepts it any more");
    wasRevoked = true;
    const sharing = seen.nodes.some(({ entry, shared, alive }) => shared && alive && entry.id !== identity.id);
    if (!sharing) return null;
    return new RuntimeError("RUNTIME_FORBIDDEN", "This node was revoked by another node of its database.", {
      hint: "Delete its home directory, or its node.key there, before it is used again: it is a new node then.",
    });
  }

  /** The copy serves where the database was lost; one that cannot be read is reported. */
  async function readCopy(): Promise<void> {
    const { state, aside: path } = await copy.read();
    aside = path;
    if (state === null || !mesh) return;
    const seen = await view.refresh();
    if (seen.root !== null || state.root === null) return;
    await restoreMesh(store, state, identity.id);
    logger.warn({ file: paths.meshFile }, "the database knows of no mesh: it was restored from the copy");
  }

  const ticker = createTicker({
    name: "membership",
    run: refresh,
    intervalMs: mesh?.heartbeatMs ?? INTERVAL_MS,
    logger,
  });
  const rounds = createTicker({
    name: "gossip",
    run: gossip.round,
    intervalMs: mesh?.heartbeatMs ?? INTERVAL_MS,
    logger,
  });

  async function report(): Promise<MeshReport> {
    if (!mesh) return { enabled: false, standing: null, members: 0, problem: null };
    const seen = await view.current();
    const standing = standingOf(seen, identity.id);
    const problem =
      standing === "revoked"
        ? "this node was revoked: no member accepts it"
        : standing === "left"
          ? "this node has left its mesh: its next start has another identity"
          : (joinFailure ??
            (aside === null ? null : `mesh.json could not be read, and was set aside as ${aside}`) ??
            gossip.refusal());
    return { enabled: true, standing, members: seen.mesh.records.size, problem };
  }

  return {
    registry,
    unfit: unfit.promise,
    control: {
      report,
      createToken: () => started(joining.createToken),
      admit: (request) => started(() => joining.admit(request)),
      join: (token, url, signal) =>
        started(async () => {
          const joined = await joining.join(token, url, signal);
          joinFailure = null;
          return joined;
        }),
      leave: (options, signal) => started(() => leaving.leave(options, signal)),
      revoke: async (idOrName, signal) => {
        const departure = await started(() => leaving.revoke(idOrName, signal));
        ticker.notify();
        return departure;
      },
      gossip: (received) => started(() => gossip.answer(received)),
      revocationOf: async (node) => (await view.current()).mesh.revocations.get(node) ?? null,
    },
    shows(certificate, next) {
      shown = { certificate_sha256: certificate, next_certificate_sha256: next };
    },
    service: {
      name: "membership",
      async start(signal) {
        schema = await latestMigration(migrations);
        // Its lease is there already: who changes the schema sees this node, or is seen by it here.
        published = await withSchemaHeld(database, { directory: migrations }, async (tx) => {
          await assertMayServe(tx);
          return registry.publish(entryOf("online"), tx);
        });
        await readCopy();
        const seen = mesh ? await view.reconcile() : await view.refresh();
        const problem = assertFit(seen);
        if (problem !== null) throw problem;
        if (mesh)
          joinFailure = await joinAtStart(paths.joinFile, (token, url) => joining.join(token, url, signal), logger);
        ticker.start();
        if (mesh) rounds.start();
      },
      async stop() {
        await Promise.all([ticker.stop(), rounds.stop()]);
        await publish("stopped").catch((err: unknown) => {
          logger.warn({ err }, "the registry could not be told that this node stops");
        });
        if (!mesh) return;
        // The members with databases of their own hear of it, as far as they answer at once.
        await view.refresh().catch(() => undefined);
        await gossip.round(AbortSignal.timeout(GOODBYE_MS)).catch(() => undefined);
      },
    },
    notify: () => ticker.notify(),
    async prune() {
      await registry.prune();
      await tokens.prune();
    },
    async onReturn() {
      try {
        await withSchemaHeld(database, { directory: migrations }, assertMayServe);
      } catch (error) {
        if (error instanceof CairnError && !error.retryable) unfit.reject(error);
        throw error;
      }
    },
  };
}

const GOODBYE_MS = 2_000;

async function enabled<T>(mesh: object | null, work: () => Promise<T>): Promise<T> {
  if (mesh !== null) return work();
  throw new RuntimeError("RUNTIME_CONFLICT", "This node is in no mesh: mesh.enabled is off.", {
    hint: "Set mesh.enabled to true in cairn.yaml, and mesh.advertise to the address for other nodes; then restart it.",
  });
}

const unreachable = async (): Promise<never> => {
  throw new RuntimeError("RUNTIME_CONFLICT", "This node is in no mesh.");
};
const NO_CALLS: MeshCalls = {
  gossip: unreachable,
  certificateAt: unreachable,
  join: unreachable,
  revocation: unreachable,
};
