/** What a node answers about its mesh before its start is done: its server listens while the schema is still being made. */

import { expect, it } from "vitest";
import type { Database } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import { createMembership } from "../../../runtime/host/membership.ts";
import { firstNode } from "../../support/meshes.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

it("makes no token before its start is done, and says so", async () => {
  const { id, name, keys } = firstNode("nova");
  const noTable = () => Promise.reject(new MemoryError("MEMORY_QUERY_FAILED", 'relation "mesh" does not exist'));
  const none = (): Promise<never> => Promise.reject(new Error("no node is called"));
  const { control } = createMembership({
    identity: { id, name, ...keys },
    // Without tables: every statement fails.
    database: { query: noTable, transaction: noTable } as unknown as Database,
    migrations: "/nonexistent",
    said: { release: "1.0.0", address: "https://nova:7433", agents: [] },
    isDraining: () => false,
    paths: { meshFile: "/nonexistent/mesh.json", joinFile: "/nonexistent/join.json", nodeKey: "/nonexistent/node.key" },
    mesh: {
      heartbeatMs: 15_000,
      seeds: [],
      calls: { gossip: none, revocation: none, join: none, certificateAt: none },
      foundAt: () => null,
    },
    clock: { now: () => new Date(0), monotonic: () => 0 },
    logger: quietLogger,
  });
  await expect(control.createToken()).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
});
