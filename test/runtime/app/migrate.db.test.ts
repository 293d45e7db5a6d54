import { generateKeyPairSync } from "node:crypto";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLeaseTable } from "../../../runtime/app/leases.ts";
import { checkSchema, latestMigration, migrate, schemaVersion, withSchemaHeld } from "../../../runtime/app/migrate.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { nodeIdOf } from "../../../runtime/domain/mesh/node-entry.ts";
import { describeEachDatabase, MIGRATIONS } from "../../support/databases.ts";
import { entryOf, registryOf } from "../../support/node-entries.ts";

describeEachDatabase("migrations", (open) => {
  let database: Database;
  const directories: string[] = [];

  beforeAll(async () => {
    database = await open();
  });

  afterAll(async () => {
    for (const directory of directories) await rm(directory, { recursive: true, force: true });
  });

  /** The real migrations, and others beside or instead of them. */
  async function files(extra: Readonly<Record<string, string>> = {}, real = true): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), "cairn-test-migrations-"));
    directories.push(directory);
    if (real) await cp(MIGRATIONS, directory, { recursive: true });
    for (const [name, sql] of Object.entries(extra)) await writeFile(join(directory, name), sql);
    return directory;
  }

  /** Empties the database, so that it is as before the first migration. */
  async function empty(): Promise<void> {
    await database.script("drop schema public cascade; create schema public");
  }

  const number = (n: number): string => String(n).padStart(3, "0");
  const tables = async (): Promise<string[]> =>
    (
      await database.query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'")
    ).rows.map(({ name }) => name);

  it("brings an empty database up to date once, and finds nothing to do afterwards", async () => {
    await empty();
    expect(await schemaVersion(database)).toBeNull();
    const first = await migrate(database, { directory: MIGRATIONS });
    expect(first.version).toBe(first.applied.length);
    expect(first.applied[0]).toBe("001_transcript.sql");
    expect(await migrate(database, { directory: MIGRATIONS })).toEqual({
      version: first.version,
      applied: [],
    });
    expect(await schemaVersion(database)).toBe(first.version);
    expect(await tables()).toEqual(expect.arrayContaining(["messages", "conversations", "inbox", "schema_migrations"]));
    expect((await database.query("select 1 from pg_extension where extname in ('vector', 'pg_trgm')")).count).toBe(2);
  });

  it("applies each file once when several start at the same time", async () => {
    await empty();
    const reports = await Promise.all([1, 2, 3].map(() => migrate(database, { directory: MIGRATIONS })));
    const applied = reports.flatMap((report) => report.applied);
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied.length).toBe(reports[0]?.version);
  });

  it("applies what is new and keeps what is there", async () => {
    const { version } = await migrate(database, { directory: MIGRATIONS });
    const next = `${number(version + 1)}_later.sql`;
    const directory = await files({ [next]: "create table later (n int); insert into later values (1);" });
    expect(await migrate(database, { directory })).toEqual({ version: version + 1, applied: [next] });
    expect((await database.query("select n from later")).rows).toEqual([{ n: 1 }]);
  });

  it("says of older conversations how they began: turns, whose they are, and what programs stored", async () => {
    await empty();
    const before = await files();
    for (const name of await readdir(before)) if (name >= "013") await rm(join(before, name));
    await migrate(database, { directory: before });
    /** One conversation; with a key it has one message. */
    const conversation = async (name: string, channelId: string | null, user: string, messageKey?: string) => {
      await database.query(
        `with c as (insert into conversations (id, session_key, agent, channel, channel_id, user_id)
           values (gen_random_uuid(), $1, 'main', 'agent', $2, $3) returning id),
         m as (insert into messages (id, conversation_id, agent, channel, role, content)
           select gen_random_uuid(), id, 'main', 'agent', 'user', 'hi' from c where $4::text is not null
           returning id, conversation_id)
         insert into message_keys (conversation_id, key, message_id) select conversation_id, $4::text, id from m`,
        [name, channelId, user, messageKey ?? null],
      );
    };
    await conversation("turns of the owner", "room", "", "turn:1:0");
    await conversation("turns of ann", "room", "ann", "turn:2:0");
    await conversation("a command of ann", "room", "ann");
    await conversation("captured", null, "", "claude:1");
    await conversation("captured under a key of turns", null, "", "turn:3:0");
    await conversation("imported", "room", "", "import:1");
    await migrate(database, { directory: MIGRATIONS });
    const { rows } = await database.query("select session_key, opened_by, by_owner from conversations");
    const found = rows.map((row) => Object.values(row).join(", ")).sort();
    expect(found).toEqual(
      [
        "turns of the owner, turn, true",
        "turns of ann, turn, false",
        "a command of ann, turn, false",
        "captured, capture, false",
        "captured under a key of turns, capture, false",
        "imported, capture, false",
      ].sort(),
    );
  });

  it("refuses a database that is newer than it knows, unless that says that it is compatible", async () => {
    await empty();
    const { version } = await migrate(database, { directory: MIGRATIONS });
    const expands = {
      [`${number(version + 1)}_expands.sql`]: `-- compatible-from: ${version}\ncreate table expanded ();`,
    };
    await migrate(database, { directory: await files(expands) });
    const older = await migrate(database, { directory: MIGRATIONS });
    expect(older).toEqual({ version: version + 1, applied: [] });

    const breaks = { ...expands, [`${number(version + 2)}_breaks.sql`]: "drop table expanded;" };
    await migrate(database, { directory: await files(breaks) });
    await expect(migrate(database, { directory: MIGRATIONS })).rejects.toMatchObject({
      code: "MEMORY_SCHEMA_MISMATCH",
      message: expect.stringContaining("newer"),
    });
  });

  it("builds the index of a file that says `concurrently`, and refuses one that holds anything else", async () => {
    await empty();
    const base = {
      "001_t.sql":
        "create table leases (name text primary key, holder text not null, epoch bigint default 1, " +
        "expires_at timestamptz not null, data jsonb not null default '{}'); create table t (n int);",
    };
    const build =
      "-- Of rows by their number.\n-- concurrently\ncreate index concurrently t_n\n  on t (n)\n  where n > 0;\n";
    const directory = await files({ ...base, "002_index.sql": build }, false);
    expect(await migrate(database, { directory })).toEqual({ version: 2, applied: ["001_t.sql", "002_index.sql"] });
    expect((await database.query("select from pg_indexes where indexname = 't_n'")).count).toBe(1);
    expect(await migrate(database, { directory })).toEqual({ version: 2, applied: [] });
    for (const more of ["drop table t;", "create index concurrently other on t (n);"]) {
      const two = await files({ ...base, "002_index.sql": `${build}${more}` }, false);
      await expect(migrate(database, { directory: two })).rejects.toMatchObject({
        code: "MEMORY_SCHEMA_MISMATCH",
        message: expect.stringContaining("002_index.sql"),
      });
    }
  });

  describe("beside nodes that run", () => {
    const keys = generateKeyPairSync("ed25519");
    const id = nodeIdOf(keys.publicKey);
    const leases = () => createLeaseTable(database);

    /** The schema of today, and a node that runs on it. */
    async function running(schema: number | null = null): Promise<number> {
      await empty();
      const { version } = await migrate(database, { directory: MIGRATIONS });
      await leases().acquire(`node:${id}`, "boot", 60_000);
      const registry = registryOf(database);
      if (schema !== null) await registry.publish((n) => entryOf(keys, { version: n, schema }));
      return version;
    }

    const breaking = (version: number) =>
      files({
        [`${number(version + 1)}_expands.sql`]: `-- compatible-from: ${version}\ncreate table expanded ();`,
        [`${number(version + 2)}_breaks.sql`]: "drop table expanded;",
      });

    it("makes nothing that one of them could not work with, and names it", async () => {
      const version = await running();
      const registry = registryOf(database);
      await registry.publish((n) => entryOf(keys, { version: n, schema: version }));
      const directory = await breaking(version);
      await expect(migrate(database, { directory, node: "another" })).rejects.toMatchObject({
        code: "MEMORY_SCHEMA_MISMATCH",
        retryable: false,
        message: expect.stringMatching(`^The node box runs .* schema ${version + 2} .*: it knows ${version}\\.$`),
        details: { hint: expect.stringContaining("Stop box") },
      });
      expect(await schemaVersion(database)).toBe(version);
      // It is no hindrance to itself, nor when it has ended.
      await leases().release(`node:${id}`, "boot");
      expect(await migrate(database, { directory, node: "another" })).toMatchObject({ version: version + 2 });
    });

    it("makes what all of them can work with, and what a node itself needs that is replaced", async () => {
      const version = await running((await latestMigration(MIGRATIONS)) + 1);
      const directory = await files({
        [`${number(version + 1)}_expands.sql`]: `-- compatible-from: ${version}\ncreate table expanded ();`,
        [`${number(version + 2)}_more.sql`]: `-- compatible-from: ${version + 1}\ncreate table more ();`,
      });
      expect(await migrate(database, { directory, node: "another" })).toMatchObject({ version: version + 2 });
      await running(1);
      expect(await migrate(database, { directory: await breaking(version), node: id })).toMatchObject({
        version: version + 2,
      });
    });

    it("takes a node that says nothing of itself for one that knows what it runs on, and no more", async () => {
      const version = await running(null);
      const floor = 16;
      const expands = await files({
        [`${number(version + 1)}_a.sql`]: `-- compatible-from: ${floor}\ncreate table a ();`,
      });
      expect(await migrate(database, { directory: expands, node: "another" })).toMatchObject({ version: version + 1 });
      await running(null);
      const breaks = await files({
        [`${number(version + 1)}_a.sql`]: `-- compatible-from: ${version}\ncreate table a ();`,
      });
      await expect(migrate(database, { directory: breaks, node: "another" })).rejects.toMatchObject({
        message: expect.stringMatching(/it is older\.$/),
      });
    });

    it("lets no release start beside a node of one too far away, before it has changed anything", async () => {
      const version = await running(await latestMigration(MIGRATIONS));
      const registry = registryOf(database);
      await registry.publish((n) => entryOf(keys, { version: n, schema: version, release: "0.2.1" }));
      const directory = await files({
        [`${number(version + 1)}_a.sql`]: `-- compatible-from: ${version}\ncreate table a ();`,
      });
      const start = (release: string, node = "another") => migrate(database, { directory, node, release });
      await expect(start("0.4.0")).rejects.toMatchObject({
        code: "RUNTIME_VERSION_SKEW",
        retryable: false,
        message: expect.stringContaining(
          "The node box runs Cairn 0.2.1, and Cairn 0.4.0 serves beside 0.3.x to 0.5.x only.",
        ),
      });
      await expect(checkSchema(database, { directory, node: "another", release: "0.4.0" })).rejects.toThrow("box");
      expect(await schemaVersion(database)).toBe(version);
      expect(await start("0.3.0")).toMatchObject({ version: version + 1 });
      // It is no hindrance to itself, nor when it has ended.
      await start("0.4.0", id);
      await leases().release(`node:${id}`, "boot");
      await start("0.4.0");
    });

    it("lets a node in only on a schema that it can work with", async () => {
      const version = await running(null);
      const seen = await withSchemaHeld(database, { directory: MIGRATIONS }, async () => "in");
      expect(seen).toBe("in");
      await leases().release(`node:${id}`, "boot");
      await migrate(database, { directory: await breaking(version), node: "another" });
      await expect(withSchemaHeld(database, { directory: MIGRATIONS }, async () => "in")).rejects.toMatchObject({
        code: "MEMORY_SCHEMA_MISMATCH",
      });
    });
  });

  it("refuses a file that was changed after it was applied, but not for its line endings", async () => {
    await empty();
    const sql = "create table one (n int);\ncreate table two (n int);\n";
    await migrate(database, { directory: await files({ "001_first.sql": sql }, false) });
    const crlf = await files({ "001_first.sql": sql.replaceAll("\n", "\r\n") }, false);
    expect(await migrate(database, { directory: crlf })).toEqual({ version: 1, applied: [] });
    const changed = await files({ "001_first.sql": `${sql}create table three ();` }, false);
    await expect(migrate(database, { directory: changed })).rejects.toMatchObject({
      code: "MEMORY_SCHEMA_MISMATCH",
      message: expect.stringContaining("001_first.sql"),
    });
  });

  it("leaves nothing of a file that fails, and says which it was", async () => {
    await empty();
    const good = { "001_good.sql": "create table good (n int);" };
    const bad = await files({ ...good, "002_bad.sql": "create table half (n int); select 1/0;" }, false);
    await expect(migrate(database, { directory: bad })).rejects.toMatchObject({
      code: "MEMORY_QUERY_FAILED",
      message: expect.stringContaining("002_bad.sql"),
    });
    expect(await tables()).toContain("good");
    expect(await tables()).not.toContain("half");
    const mended = await files({ ...good, "002_bad.sql": "create table half (n int);" }, false);
    expect(await migrate(database, { directory: mended })).toEqual({
      version: 2,
      applied: ["002_bad.sql"],
    });
  });

  it.each([
    [{ "001_a.sql": "", "003_c.sql": "" }, "003_c.sql"],
    [{ "001_a.sql": "", "001_b.sql": "" }, "001_b.sql"],
    [{ "first.sql": "" }, "first.sql"],
  ])("refuses files that are misnamed or out of order: %j", async (extra, culprit) => {
    await expect(migrate(database, { directory: await files(extra, false) })).rejects.toMatchObject({
      code: "MEMORY_SCHEMA_MISMATCH",
      message: expect.stringContaining(culprit),
    });
  });
});
