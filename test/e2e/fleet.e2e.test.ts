/** Nodes that share a database, as processes: each sees the others, and none works on a schema that it does not know. */

import { generateKeyPairSync } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { createLeaseTable } from "../../runtime/app/leases.ts";
import { latestMigration, migrate } from "../../runtime/app/migrate.ts";
import type { MeshNode } from "../../runtime/client/index.ts";
import { SUPPORTED_SKEW } from "../../runtime/contracts/version-skew.ts";
import { nodeIdOf } from "../../runtime/domain/mesh/node-entry.ts";
import { parseMeshFile } from "../../runtime/files/mesh-file.ts";
import { postgres } from "../../runtime/plugins/memory/postgres/manifest.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { MIGRATIONS } from "../support/databases.ts";
import { startDatabaseProxy } from "../support/faults/database-proxy.ts";
import { entryOf, registryOf } from "../support/node-entries.ts";
import type { NodeProcess, StartFailed } from "../support/node-process.ts";
import { quietLogger } from "../support/quiet-logger.ts";
import { databaseUrl, deploymentOf, killed, runningNode } from "../support/running-node.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 100 };

const deploymentNamed = (name: string, connectionString: string, more: object = {}) =>
  deploymentOf({
    config: {
      providers: { offline: {} },
      agents: { main: { provider: "offline" }, other: { provider: "offline" } },
      mesh: { name },
      memory: { postgres: { connection_string: connectionString } },
      ...more,
    },
  });

/** Name, state and agents of each. */
async function seenBy(node: NodeProcess): Promise<readonly (readonly string[])[]> {
  const { nodes } = await node.call<{ nodes: readonly MeshNode[] }>("/api/mesh");
  return nodes.map(({ name, status, hosts, self }) => [self ? `${name} *` : name, status, ...hosts]);
}

it("nodes that share a database see who runs, who is drained, who has stopped and who has died, and write it down", async () => {
  const url = await databaseUrl();
  const settings = { runtime: { lease: "2s", listen: "127.0.0.1:0" } };
  const [one, two] = [await deploymentNamed("one", url, settings), await deploymentNamed("two", url, settings)];
  const first = await runningNode(one);
  expect(await seenBy(first)).toEqual([["one *", "online", "main", "other"]]);
  const second = await runningNode(two);
  await expect
    .poll(() => seenBy(second), EVENTUALLY)
    .toEqual([
      ["one", "online", "main", "other"],
      ["two *", "online"],
    ]);
  // The node that was there before has written it down as well, at its next look.
  const file = join(one.home, "mesh.json");
  const written = async () => parseMeshFile(await readFile(file, "utf8")).nodes.map(({ name }) => name);
  await expect.poll(written, { ...EVENTUALLY, timeout: 60_000 }).toEqual(["one", "two"]);

  await first.call("/api/admin/drain", { wait: true });
  await expect.poll(async () => (await seenBy(second))[0]?.[1], EVENTUALLY).toBe("draining");
  await first.call("/api/admin/resume", {});
  await expect.poll(async () => (await seenBy(second))[0]?.[1], EVENTUALLY).toBe("online");

  await killed(first);
  await expect
    .poll(() => seenBy(second), EVENTUALLY)
    .toEqual([
      ["one", "offline"],
      ["two *", "online", "main", "other"],
    ]);
  const again = await runningNode(one);
  await expect.poll(async () => (await seenBy(second))[0]?.[1], EVENTUALLY).toBe("online");
  again.signal("SIGTERM");
  expect(await again.exited).toBe(0);
  expect((await seenBy(second))[0]).toEqual(["one", "stopped"]);
});

/** The migrations of a later version: the last one breaks with those that know only today's. */
async function later(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-test-migrations-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await cp(MIGRATIONS, directory, { recursive: true });
  const next = String((await readdir(MIGRATIONS)).length + 1).padStart(3, "0");
  await writeFile(join(directory, `${next}_breaks.sql`), "create table later ();");
  return directory;
}

it("a node that lost its database past its lease ends when the schema has changed meanwhile, and does not start again", async () => {
  const url = await databaseUrl();
  const proxy = await startDatabaseProxy(url);
  onTestFinished(() => proxy.close());
  const deployment = await deploymentNamed("one", proxy.url, { runtime: { lease: "2s", listen: "127.0.0.1:0" } });
  const node = await runningNode(deployment);
  const database = await postgres.create({ connectionString: url, pool: 2, logger: quietLogger });
  onTestFinished(() => database.close());
  const directory = await later();
  await expect(migrate(database, { directory, node: "later" })).rejects.toThrow("The node one runs and cannot work");
  proxy.disconnect();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const alive = async () =>
    (await client.query("select from leases where name like 'node:%' and expires_at > now()")).rowCount;
  await expect.poll(alive, EVENTUALLY).toBe(0);
  await client.end();
  await migrate(database, { directory, node: "later" });
  proxy.back();
  expect(await node.exited).toBe(1);
  expect(node.output()).toMatch(/schema \(\d+\) is newer than this version of Cairn can work with/);
  const refused = await runningNode(deployment).catch((error: StartFailed) => error);
  expect(refused).toMatchObject({ error: { code: "MEMORY_SCHEMA_MISMATCH" } });
});

it("a node serves beside no release too far from its own: it does not start, and ends when it comes back to one", async () => {
  const url = await databaseUrl();
  const proxy = await startDatabaseProxy(url);
  onTestFinished(() => proxy.close());
  const deployment = await deploymentNamed("one", proxy.url, { runtime: { lease: "2s", listen: "127.0.0.1:0" } });
  const node = await runningNode(deployment);
  const database = await postgres.create({ connectionString: url, pool: 2, logger: quietLogger });
  onTestFinished(() => database.close());
  const leases = createLeaseTable(database);
  proxy.disconnect();
  await expect.poll(() => leases.held("node:"), EVENTUALLY).toEqual([]);
  const keys = generateKeyPairSync("ed25519");
  const schema = await latestMigration(MIGRATIONS);
  await registryOf(database).publish((version) => entryOf(keys, { name: "far", version, schema, release: "9.0.0" }));
  await leases.acquire(`node:${nodeIdOf(keys.publicKey)}`, "boot", 600_000);
  proxy.back();
  expect(await node.exited).toBe(1);
  expect(node.output()).toContain("The node far runs Cairn 9.0.0, and Cairn ");
  const refused = await runningNode(deployment).catch((error: StartFailed) => error);
  expect(refused).toMatchObject({
    error: { code: "RUNTIME_VERSION_SKEW", message: expect.stringContaining(SUPPORTED_SKEW) },
  });
});
