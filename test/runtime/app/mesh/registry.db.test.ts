import { generateKeyPairSync } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { createLeaseTable } from "../../../../runtime/app/leases.ts";
import type { NodeRegistry } from "../../../../runtime/app/mesh/registry.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { nodeIdOf } from "../../../../runtime/domain/mesh/node-entry.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { entryOf, registryOf } from "../../../support/node-entries.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

describeEachDatabase("the registry of nodes", (open) => {
  let database: Database;
  let registry: NodeRegistry;
  const warned: object[] = [];
  const one = generateKeyPairSync("ed25519");
  const two = generateKeyPairSync("ed25519");
  const lease = (keys: typeof one) => `node:${nodeIdOf(keys.publicKey)}`;

  beforeEach(async () => {
    database = await open();
    await database.query("delete from nodes");
    await database.query("delete from leases");
    await database.query("delete from mesh");
    warned.length = 0;
    registry = registryOf(database, { ...quietLogger, warn: (fields) => void warned.push(fields) });
  });

  const states = async () =>
    Object.fromEntries((await registry.members()).map(({ entry, state, hosts }) => [entry.name, [state, ...hosts]]));

  it("has each node once, as it said last, by name", async () => {
    await registry.publish((version) => entryOf(two, { version, name: "b" }));
    await registry.publish((version) => entryOf(one, { version, name: "a" }));
    const renamed = await registry.publish((version) => entryOf(two, { version, name: "c", status: "draining" }));
    expect(renamed.version).toBe(2);
    expect((await registry.members()).map(({ entry }) => [entry.name, entry.version])).toEqual([
      ["a", 1],
      ["c", 2],
    ]);
  });

  it("says by the leases who lives, and what it hosts", async () => {
    const leases = createLeaseTable(database);
    await registry.publish((version) => entryOf(one, { version, name: "a" }));
    await registry.publish((version) => entryOf(two, { version, name: "b" }));
    expect(await states()).toEqual({ a: ["offline"], b: ["offline"] });
    await leases.acquire(lease(one), "boot", 60_000);
    await leases.acquire("agent:main", nodeIdOf(one.publicKey), 60_000);
    await leases.acquire("agent:other", nodeIdOf(one.publicKey), 60_000);
    expect(await states()).toEqual({ a: ["online", "main", "other"], b: ["offline"] });
    await registry.publish((version) => entryOf(one, { version, name: "a", status: "stopped" }));
    await leases.release(lease(one), "boot");
    await leases.release("agent:main", nodeIdOf(one.publicKey));
    await database.query("update leases set expires_at = now() - interval '1 second' where name = 'agent:other'");
    expect(await states()).toEqual({ a: ["stopped"], b: ["offline"] });
  });

  it("says when each is known to have lived last", async () => {
    const leases = createLeaseTable(database);
    await registry.publish((version) => entryOf(one, { version, name: "a", made_at: "2026-01-01T00:00:00.000Z" }));
    await registry.publish((version) => entryOf(two, { version, name: "b", made_at: "2026-01-02T00:00:00.000Z" }));
    const heard = async () => (await registry.members()).map(({ heard_at }) => Date.parse(heard_at ?? ""));
    expect(await heard()).toEqual([Date.parse("2026-01-01T00:00:00.000Z"), Date.parse("2026-01-02T00:00:00.000Z")]);
    const since = Date.now();
    await leases.acquire(lease(one), "boot", 600_000);
    await leases.acquire(lease(two), "boot", 60_000);
    await database.query("update leases set expires_at = '2026-03-01T00:00:00Z' where name = $1", [lease(two)]);
    const [lives = 0, ended] = await heard();
    // By the database's clock.
    expect(Math.abs(lives - since)).toBeLessThan(60_000);
    expect(ended).toBe(Date.parse("2026-03-01T00:00:00.000Z"));
    await leases.release(lease(two), "boot");
    expect((await heard())[1]).toBe(Date.parse("2026-01-02T00:00:00.000Z"));
  });

  it("leaves out what its node has not signed, and logs it", async () => {
    await registry.publish((version) => entryOf(one, { version, name: "a" }));
    await registry.publish((version) => entryOf(two, { version, name: "b" }));
    await database.query(`update nodes set entry = entry || '{"address": "https://evil.example"}' where id = $1`, [
      nodeIdOf(one.publicKey),
    ]);
    expect(await states()).toEqual({ b: ["offline"] });
    expect(warned).toEqual([{ node: nodeIdOf(one.publicKey) }]);
  });

  it("finds a node by its id, as it has signed its entry", async () => {
    const entry = await registry.publish((version) => entryOf(one, { version, name: "a" }));
    expect(await registry.find(entry.id)).toEqual(entry);
    expect(await registry.find(nodeIdOf(two.publicKey))).toBeNull();
    // The entry of one node under the id of another.
    await database.query("update nodes set id = $1", [nodeIdOf(two.publicKey)]);
    expect(await registry.find(nodeIdOf(two.publicKey))).toBeNull();
    await database.query(`update nodes set id = $1, entry = entry || '{"name": "b"}'`, [entry.id]);
    expect(await registry.find(entry.id)).toBeNull();
  });

  it("forgets a node of which nothing was heard for a month, and no other", async () => {
    const leases = createLeaseTable(database);
    await registry.publish((version) => entryOf(one, { version, name: "old" }));
    await registry.publish((version) => entryOf(two, { version, name: "lives" }));
    await leases.acquire(lease(two), "boot", 60_000);
    await leases.acquire(lease(one), "boot", 60_000);
    await registry.prune();
    expect(Object.keys(await states())).toEqual(["lives", "old"]);
    await database.query("update leases set expires_at = now() - interval '31 days' where name = $1", [lease(one)]);
    await registry.prune();
    expect(Object.keys(await states())).toEqual(["lives"]);
  });

  it("goes on to forget where a member says a time that the database cannot read", async () => {
    const leases = createLeaseTable(database);
    const strange = entryOf(two, { name: "strange", made_at: "+020000-01-01T00:00:00.000Z" });
    await database.query("insert into nodes (id, version, entry) values ($1, 1, $2::jsonb)", [
      strange.id,
      JSON.stringify(strange),
    ]);
    await registry.publish((version) => entryOf(one, { version, name: "old" }));
    await leases.acquire(lease(one), "boot", 60_000);
    await database.query("update leases set expires_at = now() - interval '31 days'");
    await registry.prune();
    expect(await states()).toEqual({});
  });
});
