import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createArchives } from "../../../../runtime/app/archive/archives.ts";
import { createAttachmentStore } from "../../../../runtime/app/attachments/store.ts";
import { createBackups } from "../../../../runtime/app/backups/backups.ts";
import { BackupDirectory, type DiskSpace } from "../../../../runtime/app/backups/directory.ts";
import { BackupSchedule } from "../../../../runtime/app/backups/schedule.ts";
import { createLeaseTable, type LeaseTable } from "../../../../runtime/app/leases.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../../runtime/contracts/errors.ts";
import { describeDatabase, describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2030, 0, 31, 2, 3, 4);
const ROOM: DiskSpace = { free: 1e12, total: 1e12 };

interface GivenNode {
  readonly dir?: string;
  readonly keep?: number;
  readonly note?: LeaseTable["note"];
}

/** A node of the store with a disk of its own, on a clock that the test turns. */
async function nodeOf(database: Database, name = "one", given: GivenNode = {}) {
  const time = { now: START, setBackMs: 0 };
  const disk = { space: ROOM };
  const dir = given.dir ?? (await temporaryDirectory());
  const directory = new BackupDirectory(join(dir, "backups"), async () => disk.space);
  const clock = { now: () => new Date(time.now), monotonic: () => time.now + time.setBackMs };
  const archives = createArchives({
    database,
    writer: writerOf(database),
    agents: new Set(["main"]),
    attachments: createAttachmentStore({ database, directory: join(dir, "attachments"), logger: quietLogger }),
    staging: directory.staging,
    clock,
    version: "0.0.0-test",
  });
  const table = createLeaseTable(database);
  const leases = given.note === undefined ? table : { ...table, note: given.note };
  const settings = { enabled: true, every: 24 * HOUR, keep: given.keep ?? 2 };
  const backupsWith = (verify: typeof archives.verify) =>
    createBackups({ settings, directory, database, leases, archives: { verify }, clock });
  let backup = archives.backup;
  let draining = false;
  const schedule = () =>
    new BackupSchedule({
      database,
      leases,
      node: { id: `id-of-${name}`, name },
      place: "",
      archives: { ...archives, backup: (signal) => backup(signal) },
      directory,
      everyMs: settings.every,
      keep: settings.keep,
      isDraining: () => draining,
      clock,
      logger: quietLogger,
      firstAfterMs: 0,
    });
  let running = schedule();
  return {
    dir,
    directory,
    time,
    disk,
    archives,
    backups: backupsWith(archives.verify),
    backupsWith,
    run: (signal = new AbortController().signal) => running.run(signal),
    release: () => running.release(),
    setDraining(value: boolean) {
      draining = value;
    },
    restart() {
      running = schedule();
    },
    /** Archives whose bytes are these. */
    instead(bytes: typeof archives.backup) {
      backup = bytes;
    },
    names: async () => (await directory.list()).map(({ name: file }) => file),
    entries: () => readdir(directory.path),
  };
}

async function filled(database: Database): Promise<void> {
  await write(writerOf(database), "agent:main", [said("the port is 7433"), said("and the host is nova")]);
}

async function rowsOf(database: Database, table: string): Promise<unknown[]> {
  const { rows } = await database.query<{ row: unknown }>(`select to_jsonb(t) - 'search' as row from ${table} t`);
  return rows.map(({ row }) => JSON.stringify(row)).sort();
}

describeEachDatabase("a scheduled backup", (open) => {
  it("restores into an empty store, with the same rows", async () => {
    const from = await open({ fresh: true });
    await filled(from);
    const node = await nodeOf(from);
    await node.run();
    const [name = ""] = await node.names();
    expect(name).toBe("cairn-20300131T020304Z.backup");
    expect((await stat(join(node.directory.path, name))).mode & 0o777).toBe(0o600);
    expect((await stat(node.directory.path)).mode & 0o777).toBe(0o700);
    expect(await node.entries()).toEqual([name]);

    const to = await open({ fresh: true });
    const other = await nodeOf(to);
    await mkdir(other.directory.path);
    await other.archives.restore(node.backups.read(name));
    for (const table of ["conversations", "messages", "message_keys"]) {
      expect(await rowsOf(to, table)).toEqual(await rowsOf(from, table));
    }
    // What is known of the backups of one store is not known of another.
    expect(await other.backups.status()).toMatchObject({ state: "waiting", last: null });
  });

  it("is taken by one of two nodes, and by the other one once that has gone", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const [one, two] = [await nodeOf(database, "one"), await nodeOf(database, "two")];
    await Promise.all([one.run(), two.run()]);
    const [holder, other] = (await one.names()).length === 1 ? [one, two] : [two, one];
    expect(await holder.names()).toHaveLength(1);
    expect(await other.names()).toEqual([]);
    expect((await one.backups.status()).last).toEqual((await two.backups.status()).last);

    for (const node of [one, two]) node.time.now += 25 * HOUR;
    await other.run();
    expect(await other.names()).toEqual([]);
    await holder.release();
    await other.run();
    expect(await other.names()).toEqual(["cairn-20300201T030304Z.backup"]);
    await holder.run();
    expect(await holder.names()).toHaveLength(1);
  });

  it("is the other node's to take while the one that took the last one is drained", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const [one, two] = [await nodeOf(database, "one"), await nodeOf(database, "two")];
    await one.run();
    one.setDraining(true);
    for (const node of [one, two]) node.time.now += 25 * HOUR;
    await one.run();
    await two.run();
    expect([await one.names(), await two.names()]).toEqual([
      ["cairn-20300131T020304Z.backup"],
      ["cairn-20300201T030304Z.backup"],
    ]);
  });
});

describeEachDatabase("the first scheduled backup on a disk that has almost no room", (open) => {
  it("is not begun where the embedded store is copied to it", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    node.disk.space = { free: 1024 ** 3 + 1_000_000, total: 1e12 };
    await node.run();
    expect(await node.names()).toHaveLength(database.backend === "embedded" ? 0 : 1);
  });
});

describeDatabase("scheduled backups", (open) => {
  it("are taken when they are due, and not at each start", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await node.run();
    node.time.now += HOUR;
    for (let start = 0; start < 3; start++) {
      node.restart();
      await node.run();
    }
    expect(await node.names()).toHaveLength(1);
    node.time.now += 24 * HOUR;
    await node.run();
    expect(await node.names()).toHaveLength(2);
  });

  it("wait for the first message", async () => {
    const database = await open({ fresh: true });
    const node = await nodeOf(database);
    await node.run();
    expect(await node.names()).toEqual([]);
    expect(await node.backups.status()).toMatchObject({ state: "empty", next_at: null });
    await filled(database);
    await node.run();
    const status = await node.backups.status();
    expect(status).toMatchObject({ state: "good", last: { node: "one" }, failure: null });
    expect(Date.parse(status.next_at ?? "") - Date.parse(status.last?.created_at ?? "")).toBe(status.every_s * 1_000);
    expect(status.now).toBe(new Date(node.time.now).toISOString());
  });

  it("are kept as many as are wanted, and no other file is touched", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await mkdir(node.directory.path, { recursive: true });
    await writeFile(join(node.directory.path, "mine.backup"), "precious");
    for (let day = 0; day < 4; day++) {
      await node.run();
      node.time.now += 25 * HOUR;
    }
    expect(await node.names()).toEqual(["cairn-20300203T050304Z.backup", "cairn-20300202T040304Z.backup"]);
    expect(await readFile(join(node.directory.path, "mine.backup"), "utf8")).toBe("precious");
  });

  it("leave the old ones where the disk has no room, say so, and go on after a pause", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database, "one", { keep: 1 });
    await node.run();
    const before = await node.entries();
    node.time.now += 25 * HOUR;
    node.disk.space = { free: 1e6, total: 1e12 };
    await node.run();
    expect(await node.entries()).toEqual(before);
    expect(await node.backups.status()).toMatchObject({
      state: "failing",
      failure: { attempts: 1, message: expect.stringMatching(/no room/), hint: expect.stringMatching(/keep/) },
    });
    node.disk.space = ROOM;
    await node.run();
    expect(await node.entries()).toEqual(before);
    node.time.now += 5 * 60_000;
    await node.run();
    expect(await node.names()).toHaveLength(1);
    expect(await node.backups.status()).toMatchObject({ state: "good", failure: null });
  });

  it("make room on a full disk once fewer are to be kept", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const before = await nodeOf(database, "one", { keep: 3 });
    for (let day = 0; day < 3; day++) {
      await before.run();
      before.time.now += 25 * HOUR;
    }
    const node = await nodeOf(database, "one", { dir: before.dir, keep: 1 });
    node.time.now = before.time.now;
    node.disk.space = { free: 0, total: 1e12 };
    await node.run();
    expect(await node.names()).toEqual(["cairn-20300202T040304Z.backup"]);
    expect(await node.backups.status()).toMatchObject({ state: "failing" });
  });

  it("do not count before they were read back", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database, "one", { keep: 1 });
    await node.run();
    const before = await node.entries();
    node.time.now += 25 * HOUR;
    node.instead(async function* (signal) {
      for await (const chunk of node.archives.backup(signal)) yield chunk.subarray(0, chunk.length / 2);
    });
    await node.run();
    expect(await node.entries()).toEqual(before);
    expect(await node.backups.status()).toMatchObject({ state: "failing" });
  });

  it("are not failing where the node just stops, and leave nothing half done", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    const stopping = new AbortController();
    node.instead(async function* (signal) {
      yield Buffer.from("half");
      stopping.abort();
      yield* node.archives.backup(signal);
    });
    await expect(node.run(stopping.signal)).rejects.toThrow();
    expect(await node.entries()).toEqual([]);
    expect(await node.backups.status()).toMatchObject({ state: "waiting", failure: null });
  });

  it("are taken by another node where one cannot", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const [one, two] = [await nodeOf(database, "one"), await nodeOf(database, "two")];
    one.disk.space = { free: 0, total: 1e12 };
    await one.run();
    for (const node of [one, two]) node.time.now += 61_000;
    await one.run();
    await two.run();
    expect(await two.names()).toHaveLength(1);
    expect(await one.backups.status()).toMatchObject({ state: "good", last: { node: "two" } });
  });

  it("are tried again after a failure although the clock was set back by an hour since", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    node.disk.space = { free: 0, total: 1e12 };
    await node.run();
    node.disk.space = ROOM;
    node.time.setBackMs = HOUR;
    node.time.now -= HOUR;
    await node.run();
    expect(await node.names()).toEqual([]);
    node.time.now += 5 * 60_000;
    await node.run();
    expect(await node.names()).toHaveLength(1);
  });

  it("are told from files that were cut off since, when they are read again", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await node.run();
    const [name = ""] = await node.names();
    expect(await node.backups.list({ verify: true })).toMatchObject([{ name, verified: true }]);
    await truncate(join(node.directory.path, name), 100);
    expect(await node.backups.list({ verify: true })).toMatchObject([{ name, verified: false }]);
  });

  it("are not called damaged while the store that knows the schema does not answer", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await node.run();
    const backups = node.backupsWith(() => Promise.reject(new MemoryError("MEMORY_UNAVAILABLE", "gone")));
    await expect(backups.list({ verify: true })).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
  });

  it("are left out where they are deleted while each is read again", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    for (let day = 0; day < 2; day++) {
      await node.run();
      node.time.now += 25 * HOUR;
    }
    const [newest = "", oldest = ""] = await node.names();
    const backups = node.backupsWith(async (path) => {
      await node.directory.remove(oldest);
      await node.archives.verify(path);
    });
    expect(await backups.list({ verify: true })).toMatchObject([{ name: newest, verified: true }]);
  });

  it("are recorded later where the store does not answer at their end", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    let failures = 1;
    const { note } = createLeaseTable(database);
    const node = await nodeOf(database, "one", {
      note: async (...args) => {
        if (failures-- > 0) throw new MemoryError("MEMORY_UNAVAILABLE", "gone");
        return note(...args);
      },
    });
    await expect(node.run()).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" });
    const [name = ""] = await node.names();
    node.time.now += 60_000;
    await node.run();
    expect(await node.names()).toEqual([name]);
    expect(await node.backups.status()).toMatchObject({ state: "good", last: { name, node: "one" } });
  });

  it("are taken again where the file of the last one is gone", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await node.run();
    for (const name of await node.names()) await node.directory.remove(name);
    node.time.now += HOUR;
    await node.run();
    expect(await node.names()).toEqual(["cairn-20300131T030304Z.backup"]);
  });

  it("go on after a killed node's half one, which they delete", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    const child = fork(new URL("killed-backup.ts", import.meta.url), [node.directory.path]);
    await once(child, "message");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await node.entries()).toEqual([".cairn-20300131T020304Z.backup.partial"]);
    expect(await node.names()).toEqual([]);
    node.time.now += HOUR;
    await node.run();
    expect(await node.entries()).toEqual(["cairn-20300131T030304Z.backup"]);
  });

  it("say which directory cannot be written to", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await rm(node.dir, { recursive: true });
    await writeFile(node.dir, "");
    await node.run();
    expect(await node.backups.status()).toMatchObject({
      state: "failing",
      failure: { message: expect.stringMatching(/cannot write to .*backups/) },
    });
  });

  it("say so where a file has the place of their directory", async () => {
    const database = await open({ fresh: true });
    await filled(database);
    const node = await nodeOf(database);
    await writeFile(node.directory.path, "");
    await node.run();
    expect(await node.backups.status()).toMatchObject({
      state: "failing",
      failure: { message: expect.stringMatching(/cannot write to .*backups/) },
    });
  });
});

describe("a name that is no backup's", () => {
  it.each(["../node.key", "mine.backup", ".staging"])("leads to no file: %s", async (name) => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "backups"));
    await writeFile(join(dir, "node.key"), "secret");
    await writeFile(join(dir, "backups", "mine.backup"), "mine");
    const read = new BackupDirectory(join(dir, "backups")).read(name);
    await expect(read.next()).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
  });
});
