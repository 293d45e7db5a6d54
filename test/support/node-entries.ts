/** Signed entries of nodes, as the registry has them. */

import type { KeyObject } from "node:crypto";
import { createMeshStore } from "../../runtime/app/mesh/mesh-store.ts";
import { createNodeRegistry, type NodeRegistry } from "../../runtime/app/mesh/registry.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import type { NodeEntry } from "../../runtime/contracts/node-entry.ts";
import type { Logger } from "../../runtime/contracts/ports.ts";
import { makeEntry } from "../../runtime/domain/mesh/node-entry.ts";
import { quietLogger } from "./quiet-logger.ts";

/** The registry alone: nobody is heard. */
export function registryOf(database: Database, logger: Logger = quietLogger): NodeRegistry {
  const clock = { now: () => new Date(), monotonic: () => performance.now() };
  const store = createMeshStore({ database, logger });
  const refresh = () => store.read(clock.now());
  return createNodeRegistry({
    database,
    store,
    view: { current: refresh, refresh },
    livenessOf: () => "offline",
    clock,
  });
}

export function entryOf(
  keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  said: Partial<NodeEntry> = {},
): NodeEntry {
  const { id: _id, public_key: _key, signature: _signature, ...rest } = said;
  return makeEntry(
    {
      name: "box",
      version: 1,
      release: "0.1.0",
      schema: 22,
      address: null,
      certificate_sha256: null,
      next_certificate_sha256: null,
      agents: ["main"],
      status: "online",
      made_at: "2026-01-01T00:00:00.000Z",
      ...rest,
    },
    keys,
  );
}
