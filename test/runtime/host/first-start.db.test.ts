/** Two nodes of one `deployment.nodes`, each on a machine of its own, that meet an empty PostgreSQL at the same moment. */

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { SCHEMA_LOCK } from "../../../runtime/app/migrate.ts";
import { lacks } from "../../lanes/tools.ts";
import { createPostgresCopy } from "../../support/databases.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

const cluster = process.env["CAIRN_TEST_PG_URL"] ?? "";

/** A deployment directory of the node, which knows of both. */
async function directory(name: string, url: string): Promise<string> {
  const dir = join(await temporaryDirectory(), name);
  await mkdir(join(dir, "home"), { recursive: true, mode: 0o700 });
  await writeFile(
    join(dir, "cairn.yaml"),
    `version: 1
agents: { main: { provider: offline } }
providers: { offline: {} }
mesh: { name: ${name} }
memory: { postgres: { connection_string: "${url}" } }
deployment: { target: manual, nodes: [{ name: one }, { name: two }] }
`,
  );
  await writeFile(join(dir, ".env"), OWNER_ENV);
  await chmod(join(dir, ".env"), 0o600);
  return dir;
}

describe.skipIf(lacks("postgresql"))("nodes that start at once on one empty PostgreSQL", () => {
  it("migrate it once, the other waits for the lock, and both serve", async () => {
    const { url, remove } = await createPostgresCopy(cluster);
    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(async () => {
      await client.end();
      await remove();
    });
    await client.query("drop schema public cascade; create schema public");
    // Both are at the lock before either may go on: whatever the machine does, they meet there.
    await client.query("select pg_advisory_lock($1)", [SCHEMA_LOCK]);
    const dirs = await Promise.all(["one", "two"].map((name) => directory(name, url)));
    const starting = Promise.all(dirs.map((dir) => startedHost({ dir })));
    await eventually(async () => {
      const waiting = await client.query(
        "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
      );
      expect(waiting.rowCount).toBe(2);
    });
    await client.query("select pg_advisory_unlock($1)", [SCHEMA_LOCK]);

    const nodes = await starting;
    for (const { request } of nodes) expect((await request("/health/ready")).status).toBe(200);
    const { rows } = await client.query("select version from schema_migrations order by version");
    expect(rows.map(({ version }) => version)).toEqual(rows.map((_row, index) => index + 1));
    expect(rows.length).toBeGreaterThan(1);
  });
});
