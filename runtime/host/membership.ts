/** This node in the registry: it writes what it is, whenever that changes, and keeps a copy of the registry in its home directory. */

import { isDeepStrictEqual } from "node:util";
import { createNodeRegistry, liveReaders, type NodeRegistry } from "../app/mesh/registry.ts";
import { latestMigration, SCHEMA_LOCK, withSchemaHeld } from "../app/migrate.ts";
import type { Database, Queryable } from "../contracts/database.ts";
import { CairnError } from "../contracts/errors.ts";
import type { NodeEntry, NodeStatus } from "../contracts/node-entry.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { assertWithinSkew } from "../contracts/version-skew.ts";
import { makeEntry } from "../domain/mesh/node-entry.ts";
import { writeMeshFile } from "../files/mesh-file.ts";
import { createTicker } from "../workers/ticker.ts";
import type { NodeIdentity } from "./identity.ts";
import type { Service } from "./services.ts";

export interface MembershipDeps {
  readonly identity: NodeIdentity;
  readonly database: Database;
  /** Directory of the SQL files. */
  readonly migrations: string;
  /** What of the node does not change while it runs. */
  readonly said: Pick<NodeEntry, "release" | "address" | "agents">;
  isDraining(): boolean;
  /** `mesh.json`. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Membership {
  readonly registry: NodeRegistry;
  readonly service: Service;
  /** Rejects when this node must not go on; pending else. */
  readonly unfit: Promise<never>;
  /** Fingerprints of the certificate that it shows and of the one that follows it; null without. Before its start. */
  shows(certificate: string | null, next: string | null): void;
  /** Whether it is drained has changed. */
  notify(): void;
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
  const { identity, database, migrations, logger } = deps;
  const registry = createNodeRegistry({ database, logger });
  const unfit = Promise.withResolvers<never>();
  unfit.promise.catch(() => undefined);
  let shown: Pick<NodeEntry, "certificate_sha256" | "next_certificate_sha256"> = {
    certificate_sha256: null,
    next_certificate_sha256: null,
  };
  let schema = 0;
  let published: NodeStatus | null = null;
  let written: readonly NodeEntry[] = [];

  const entryOf = (status: NodeStatus) => (version: number) =>
    makeEntry(
      {
        ...deps.said,
        name: identity.name,
        version,
        schema,
        ...shown,
        status,
        made_at: deps.clock.now().toISOString(),
      },
      identity,
    );

  /** RUNTIME_VERSION_SKEW. One after the other: of two that come at once, one sees the other. */
  async function assertMayServe(tx: Queryable): Promise<void> {
    await tx.query("select pg_advisory_xact_lock($1)", [JOIN_LOCK]);
    assertWithinSkew(deps.said.release, await liveReaders(tx, identity.id));
  }

  async function publish(status: NodeStatus): Promise<void> {
    await registry.publish(entryOf(status));
    published = status;
  }

  async function refresh(): Promise<void> {
    const status = deps.isDraining() ? "draining" : "online";
    if (status !== published) await publish(status);
    const entries = (await registry.members()).map(({ entry }) => entry);
    if (isDeepStrictEqual(entries, written)) return;
    await writeMeshFile(deps.file, entries);
    written = entries;
  }

  const ticker = createTicker({ name: "membership", run: refresh, intervalMs: INTERVAL_MS, logger });
  return {
    registry,
    unfit: unfit.promise,
    shows(certificate, next) {
      shown = { certificate_sha256: certificate, next_certificate_sha256: next };
    },
    service: {
      name: "membership",
      async start() {
        schema = await latestMigration(migrations);
        // Its lease is there already: who changes the schema sees this node, or is seen by it here.
        await withSchemaHeld(database, { directory: migrations }, async (tx) => {
          await assertMayServe(tx);
          await registry.publish(entryOf("online"), tx);
        });
        published = "online";
        ticker.start();
      },
      async stop() {
        await ticker.stop();
        await publish("stopped").catch((err: unknown) => {
          logger.warn({ err }, "the registry could not be told that this node stops");
        });
      },
    },
    notify: () => ticker.notify(),
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
