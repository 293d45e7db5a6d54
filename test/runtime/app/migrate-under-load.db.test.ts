/**
 * Migrations beside nodes that work, on a server of their own: indexes are built in no transaction and taken up again after whatever
 * interrupted them, and changes of tables in use hold nothing up and say for whom they wait.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLeaseTable } from "../../../runtime/app/leases.ts";
import { latestMigration, migrate, schemaVersion } from "../../../runtime/app/migrate.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { waitForDatabaseAndMigrate } from "../../../runtime/host/wait-for-database.ts";
import { openPostgres } from "../../../runtime/plugins/memory/postgres/index.ts";
import { type PostgresServer, startPostgres } from "../../lanes/postgres.ts";
import { lacks } from "../../lanes/tools.ts";
import { createPostgresCopy, MIGRATIONS, quietLogger } from "../../support/databases.ts";
import { eventually, until } from "../../support/eventually.ts";

const TIMEOUT = 300_000;
const CHILD = join(import.meta.dirname, "../../support/migrating-child.ts");

describe.skipIf(lacks("postgresql"))("migrations beside nodes that work", { timeout: TIMEOUT }, () => {
  let server: PostgresServer;
  let url: string;
  let database: Database;
  /** The migrations of today. */
  let today: number;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    today = await latestMigration(MIGRATIONS);
  }, TIMEOUT);

  beforeEach(async () => {
    const copy = await createPostgresCopy(server.url);
    url = copy.url;
    database = await open();
    await database.query("create table traffic (id bigint generated always as identity, n int)");
    await database.query("insert into traffic (n) select i from generate_series(1, 1000) i");
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  afterAll(() => server.stop(), TIMEOUT);

  async function open(): Promise<Database> {
    const opened = await openPostgres({ connectionString: url, pool: 4, logger: quietLogger });
    cleanups.push(() => opened.close());
    return opened;
  }

  /** Today's migrations, and one after them. */
  async function withNext(sql: string): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), "cairn-test-migrations-"));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    await cp(MIGRATIONS, directory, { recursive: true });
    await writeFile(join(directory, `${String(today + 1).padStart(3, "0")}_next.sql`), sql);
    return directory;
  }

  const indexed = (): Promise<string> =>
    withNext("-- compatible-from: 16\n-- concurrently\n\ncreate index concurrently traffic_n on traffic (n);\n");
  const widened = (): Promise<string> => withNext("-- compatible-from: 16\nalter table traffic add column m int;\n");

  /** Somebody's transaction that has read the table, and stays open until it is ended. */
  async function reader(): Promise<{ readonly pid: number; end(): Promise<unknown> }> {
    const client = new pg.Client({ connectionString: url, application_name: "report" });
    client.on("error", () => undefined);
    await client.connect();
    cleanups.push(() => client.end().catch(() => undefined));
    await client.query("begin isolation level repeatable read");
    await client.query("select count(*) from traffic");
    const { rows } = await client.query("select pg_backend_pid() as pid");
    return { pid: Number(rows[0]?.pid), end: () => client.query("commit") };
  }

  /** What a node does all the time, each statement with its usual deadlines. */
  function traffic(): { stop(): Promise<number> } {
    let going = true;
    let answered = 0;
    const run = (async () => {
      while (going) {
        await database.query("insert into traffic (n) values (0)");
        await database.query("select count(*) from traffic");
        answered += 1;
      }
    })();
    run.catch(() => undefined);
    return {
      async stop() {
        going = false;
        await run;
        return answered;
      },
    };
  }

  const indexState = async (): Promise<boolean | null> => {
    const { rows } = await database.query<{ valid: boolean }>(
      "select indisvalid as valid from pg_index where indexrelid = to_regclass('traffic_n')",
    );
    return rows[0]?.valid ?? null;
  };
  /** Processes of the server that build an index. */
  const builders = async (): Promise<readonly number[]> =>
    (await database.query<{ pid: number }>("select pid from pg_stat_progress_create_index")).rows.map(({ pid }) => pid);
  /** Once it waits for the reader: from here on it is in the middle. */
  const inTheMiddle = (): Promise<void> => until(async () => (await indexState()) === false);

  it("builds an index while the table is read and written, and says for which transaction it waits", async () => {
    const report = await reader();
    const waits: string[] = [];
    const work = traffic();
    const migrating = migrate(database, { directory: await indexed(), onWait: (reason) => void waits.push(reason) });
    await inTheMiddle();
    await eventually(() =>
      expect(waits.join()).toMatch(new RegExp(`report \\(pid ${report.pid}, as postgres, idle in tr`)),
    );
    expect(await schemaVersion(database)).toBe(today);
    await report.end();
    expect(await migrating).toMatchObject({ version: today + 1 });
    expect(await work.stop()).toBeGreaterThan(0);
    expect(await indexState()).toBe(true);
  });

  it("finds what an interrupted build left, and builds it again", async () => {
    const report = await reader();
    const directory = await indexed();
    const interrupted = migrate(database, { directory }).catch((error: unknown) => error);
    await inTheMiddle();
    for (const pid of await builders()) await database.query("select pg_terminate_backend($1)", [pid]);
    expect(await interrupted).toMatchObject({ code: "MEMORY_UNAVAILABLE", retryable: true });
    expect([await indexState(), await schemaVersion(database)]).toEqual([false, today]);
    await report.end();
    expect(await migrate(database, { directory })).toMatchObject({ version: today + 1 });
    expect(await indexState()).toBe(true);
  });

  it("goes on after its process was killed, while the server still builds for it", async () => {
    const report = await reader();
    const directory = await indexed();
    const child = spawn(process.execPath, [CHILD, url, directory], { stdio: "ignore" });
    await inTheMiddle();
    await killed(child);
    const waits: string[] = [];
    const resumed = migrate(database, { directory, node: "child", onWait: (reason) => void waits.push(reason) });
    const [orphan] = await builders();
    await eventually(() => expect(waits.join()).toContain(`pid ${orphan}`));
    await report.end();
    expect(await resumed).toMatchObject({ version: today + 1 });
    expect(await indexState()).toBe(true);
  });

  it("builds it once when two nodes start, and when a valid one of that name is there already, not at all", async () => {
    const directory = await indexed();
    const report = await reader();
    const first = migrate(database, { directory, node: "one" });
    await inTheMiddle();
    const waits: string[] = [];
    const second = migrate(await open(), { directory, node: "two", onWait: (reason) => void waits.push(reason) });
    await eventually(() => expect(waits).toContain("Another node builds an index."));
    await report.end();
    const reports = await Promise.all([first, second]);
    expect(reports.map(({ version }) => version)).toEqual([today + 1, today + 1]);
    expect(reports.flatMap(({ applied }) => applied)).toHaveLength(1);

    await database.query("delete from schema_migrations where version = $1", [today + 1]);
    const { rows } = await database.query("select 'traffic_n'::regclass::oid as oid");
    expect(await migrate(database, { directory })).toMatchObject({ version: today + 1 });
    expect((await database.query("select 'traffic_n'::regclass::oid as oid")).rows).toEqual(rows);
  });

  it("does not hand the build to a second node before the first one's lease has run out", async () => {
    await createLeaseTable(database).acquire("migration:index", "one", 1_500);
    expect(await migrate(database, { directory: await indexed(), node: "two" })).toMatchObject({ version: today + 1 });
  });

  it("holds nothing up behind a table that stays in use, and ends with the name of who uses it", async () => {
    const report = await reader();
    const directory = await widened();
    const work = traffic();
    await expect(migrate(database, { directory, lockAttempts: 3 })).rejects.toMatchObject({
      code: "MEMORY_LOCK_TIMEOUT",
      retryable: true,
      message: expect.stringMatching(
        new RegExp(
          `_next\\.sql waits for a table that another session uses: report \\(pid ${report.pid}, as postgres, idle`,
        ),
      ),
      details: { hint: expect.stringContaining(`pg_terminate_backend(${report.pid})`) },
    });
    // A statement that had waited longer than usual would have failed.
    expect(await work.stop()).toBeGreaterThan(3);
    const waits: string[] = [];
    const migrating = migrate(database, { directory, onWait: (reason) => void waits.push(reason) });
    await eventually(() => expect(waits.length).toBeGreaterThan(0));
    await report.end();
    expect(await migrating).toMatchObject({ version: today + 1 });
  });

  it.each([
    ["an index is built", indexed],
    ["a table is waited for", widened],
  ])("goes on with the same start when PostgreSQL was restarted while %s", async (_, files) => {
    const report = await reader();
    const migrating = waitForDatabaseAndMigrate({
      database,
      migrations: await files(),
      node: "one",
      release: "0.2.0",
      logger: quietLogger,
      signal: AbortSignal.timeout(TIMEOUT),
    });
    await until(async () => {
      const { rows } = await database.query("select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", [
        report.pid,
      ]);
      return rows.length > 0;
    });
    await server.crash();
    await server.restart();
    expect(await migrating).toBe(today + 1);
  });
});

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
