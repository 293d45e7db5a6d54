import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { openEmbedded } from "../../../../runtime/plugins/memory/embedded/index.ts";
import { Upkeep } from "../../../../runtime/plugins/memory/embedded/upkeep.ts";
import { EVENTUALLY_MS } from "../../../lanes/patience.ts";
import { createEmbeddedCopy, quietLogger } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";

const TIMEOUT = 300_000;
const WRITER = fileURLToPath(new URL("../../../support/embedded-writer.ts", import.meta.url));

describe("the embedded store", { timeout: TIMEOUT }, () => {
  const cleanups: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function emptyDirectory(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), "cairn-test-embedded-"));
    cleanups.push(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  async function copiedStore(): Promise<string> {
    const { path, remove } = await createEmbeddedCopy();
    cleanups.push(remove);
    return path;
  }

  async function open(path: string): Promise<Database> {
    const database = await openEmbedded({ path, logger: quietLogger });
    cleanups.push(() => database.close());
    return database;
  }

  /** What in the database's directory is not the owner's alone. */
  async function openToOthers(path: string): Promise<string[]> {
    const entries = await readdir(join(path, "data"), { withFileTypes: true, recursive: true });
    const paths = entries.map((entry) => join(entry.parentPath, entry.name));
    const modes = await Promise.all(paths.map(async (each) => ({ each, mode: (await stat(each)).mode & 0o077 })));
    return modes.flatMap(({ each, mode }) => (mode === 0 ? [] : [each]));
  }

  /** A process that inserts 1, 2, 3, ... and prints each number once its insert was acknowledged. */
  function startWriter(path: string): { child: ChildProcess; acknowledged: number[] } {
    const child = spawn(process.execPath, [WRITER, path], { stdio: ["ignore", "pipe", "inherit"] });
    const acknowledged: number[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => acknowledged.push(Number(line)));
    cleanups.push(async () => void child.kill("SIGKILL"));
    return { child, acknowledged };
  }

  async function until(condition: () => boolean, child: ChildProcess): Promise<void> {
    while (!condition()) {
      if (child.exitCode !== null) throw new Error("the writer ended by itself");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function kill(child: ChildProcess): Promise<void> {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  it("keeps every acknowledged row through kill -9, again and again", async () => {
    const path = await copiedStore();
    const promised = new Set<number>();
    for (let round = 1; round <= 4; round += 1) {
      const { child, acknowledged } = startWriter(path);
      await until(() => acknowledged.length > round * 37, child);
      await kill(child);
      for (const n of acknowledged) promised.add(n);
    }
    const database = await open(path);
    const { rows } = await database.query<{ n: number }>("select n from written order by n");
    const stored = new Set(rows.map(({ n }) => n));
    expect(promised.size).toBeGreaterThan(370);
    expect([...promised].filter((n) => !stored.has(n))).toEqual([]);
  });

  it("refuses a second process, names the first, and opens once that has gone, however it went", async () => {
    const path = await copiedStore();
    const { child, acknowledged } = startWriter(path);
    await until(() => acknowledged.length > 0, child);
    await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({
      code: "MEMORY_STORE_LOCKED",
      severity: "fatal",
      message: expect.stringMatching(new RegExp(`process ${child.pid} \\(since 20\\d\\d-.*\\)`)),
    });
    await kill(child);
    const database = await open(path);
    expect((await database.query("select 1 from written limit 1")).count).toBe(1);
  });

  it("refuses a second opener in the same process, until the first has closed", async () => {
    const path = await copiedStore();
    const first = await openEmbedded({ path, logger: quietLogger });
    await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({ code: "MEMORY_STORE_LOCKED" });
    await first.close();
    await expect((await open(path)).query("select 1 as n")).resolves.toMatchObject({ rows: [{ n: 1 }] });
  });

  it("does a first start that was cut short again, and leaves no half of it", async () => {
    const path = await emptyDirectory();
    await mkdir(join(path, "data.unfinished-x1y2z3"));
    await writeFile(join(path, "data.unfinished-x1y2z3", "PG_VERSION"), "18\n");
    const database = await open(path);
    await expect(database.query("select 1 as n")).resolves.toMatchObject({ rows: [{ n: 1 }] });
    expect((await readdir(path)).sort()).toEqual(["data", "lock"]);
    expect((await stat(join(path, "data"))).mode & 0o777).toBe(0o700);
  });

  it("keeps its files from others, whatever the umask, and those that an earlier version left open", async () => {
    const umask = process.umask(0);
    cleanups.push(async () => process.umask(umask));
    const path = await emptyDirectory();
    const openAfterUse = async (): Promise<string[]> => {
      const database = await openEmbedded({ path, logger: quietLogger });
      await database.script("create table if not exists written as select g from generate_series(1, 1000) g");
      const open = await openToOthers(path);
      await database.close();
      return [...open, ...(await openToOthers(path))];
    };
    expect(await openAfterUse()).toEqual([]);
    for (const entry of await readdir(join(path, "data"), { withFileTypes: true, recursive: true })) {
      await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o777 : 0o666);
    }
    expect((await openToOthers(path)).length).toBeGreaterThan(500);
    expect(await openAfterUse()).toEqual([]);
  });

  it("gives each who asks an error of their own while it cannot be opened", async () => {
    const path = await copiedStore();
    const database = await open(path);
    await rename(join(path, "data", "global", "pg_control"), join(path, "pg_control"));
    const endless = database.transaction((tx) => tx.query("select count(*) from generate_series(1, 2000000000)"), {
      statementTimeoutMs: 100,
    });
    const waiting = [1, 2].map(() => database.query("select 1").catch((error: unknown) => error));
    await expect(endless).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
    const refused = async () => database.query("select 1").catch((error: unknown) => error);
    await eventually(async () => expect(await refused()).toMatchObject({ message: expect.stringMatching(/engine/) }));
    const errors = [...(await Promise.all(waiting)), await refused(), await refused()];
    for (const error of errors) {
      expect(error).toMatchObject({ code: "MEMORY_UNAVAILABLE" });
      // As pg-boss does with whatever it is given.
      if (error instanceof Error) error.message += " (Queue: enrich)";
    }
    expect(await refused()).toMatchObject({ message: expect.not.stringContaining("Queue") });
    expect(new Set(errors).size).toBe(errors.length);
    await rename(join(path, "pg_control"), join(path, "data", "global", "pg_control"));
    await expect(eventually(() => database.query("select 1 as n"))).resolves.toMatchObject({ rows: [{ n: 1 }] });
  });

  it("takes no incomplete or foreign files for a new store", async () => {
    const path = await emptyDirectory();
    await mkdir(join(path, "data"));
    await writeFile(join(path, "data", "base"), "");
    await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({ code: "MEMORY_SCHEMA_MISMATCH" });
    await writeFile(join(path, "data", "PG_VERSION"), "17\n");
    await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({
      code: "MEMORY_SCHEMA_MISMATCH",
      message: expect.stringContaining("17"),
    });
    expect(await readFile(join(path, "data", "PG_VERSION"), "utf8")).toBe("17\n");
  });

  it("says why files that are damaged do not open, and gives the lock back", async () => {
    const path = await copiedStore();
    await rm(join(path, "data", "global", "pg_control"));
    for (let time = 0; time < 2; time += 1) {
      await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({
        code: "MEMORY_UNAVAILABLE",
        message: expect.stringContaining("pg_control"),
      });
    }
  });

  it("says why a place that is no directory cannot hold a store", async () => {
    const path = join(await emptyDirectory(), "file");
    await writeFile(path, "");
    await expect(openEmbedded({ path, logger: quietLogger })).rejects.toMatchObject({
      code: "MEMORY_UNAVAILABLE",
      message: expect.stringContaining(path),
    });
  });

  it("is whole after its thread was ended in the middle of writing, again and again", async () => {
    const database = await open(await copiedStore());
    await database.script("create table torn (n int primary key, text text not null)");
    for (let round = 1; round <= 3; round += 1) {
      await eventually(() => database.query("insert into torn values ($1, 'kept')", [round]));
      const endless = database.transaction(
        (tx) =>
          tx.query("insert into torn select g, repeat(md5(g::text), 20) from generate_series(1000, 2000000000) g"),
        { statementTimeoutMs: 300 },
      );
      await expect(endless).rejects.toMatchObject({ code: "MEMORY_TIMEOUT" });
    }
    const byTable = "select n from torn where text <> '' order by n";
    const expected = [1, 2, 3].map((n) => ({ n }));
    expect((await eventually(() => database.query(byTable))).rows).toEqual(expected);
    const byIndex = await database.transaction(async (tx) => {
      await tx.query("set local enable_seqscan = off");
      return tx.query("select n from torn where n > 0 order by n");
    });
    expect(byIndex.rows).toEqual(expected);
    await database.script("vacuum torn");
    await database.script("reindex table torn");
    expect((await database.query(byTable)).rows).toEqual(expected);
  });

  it("writes checkpoints and vacuums tables, since nothing else in its one thread does", async () => {
    const database = await open(await copiedStore());
    let now = 0;
    let uses = 0;
    const upkeep = new Upkeep({ database, logger: quietLogger, uses: () => uses, monotonic: () => now });
    const redo = async () =>
      (await database.query<{ at: string }>("select redo_lsn::text as at from pg_control_checkpoint()")).rows[0]?.at;
    const deadRows = async () =>
      (await database.query<{ n: number }>("select n_dead_tup as n from pg_stat_user_tables where relname = 'churned'"))
        .rows[0]?.n;

    const patiently = (sql: string) => database.script(sql, { statementTimeoutMs: EVENTUALLY_MS });
    await database.script("create table churned (n int, text text)");
    const before = await redo();
    await upkeep.run();
    expect(await redo()).toBe(before);

    for (let round = 0; round < 5; round += 1) {
      await patiently("insert into churned select g, repeat(md5(g::text), 30) from generate_series(1, 5000) g");
    }
    await patiently("update churned set n = n + 1");
    await database.script("select pg_stat_force_next_flush(); select 1");
    await database.query("select 1");
    expect(await deadRows()).toBeGreaterThan(20_000);
    now += 120_000;
    uses += 1;
    await upkeep.run();
    expect(await redo()).not.toBe(before);
    for (let tables = 0; tables < 20 && ((await deadRows()) ?? 0) > 0; tables += 1) {
      now += 120_000;
      uses += 1;
      await upkeep.run();
    }
    expect(await deadRows()).toBe(0);

    const idle = await redo();
    now += 3_600_000;
    await upkeep.run();
    expect(await redo()).toBe(idle);
  });
});
