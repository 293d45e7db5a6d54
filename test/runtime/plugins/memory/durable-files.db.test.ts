import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { DurableFiles } from "../../../../runtime/plugins/memory/embedded/durable-files.ts";
import { START_PARAMETERS } from "../../../../runtime/plugins/memory/embedded/settings.ts";

// The files of the lane share their modules: none of this one is what another has imported, or the other way round.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());

/** What reached the disk, in order: the descriptors given to the real fsync. */
const synced = vi.hoisted((): number[] => []);
/** Set to make the next fsync fail. */
const fault = vi.hoisted((): { next?: Error } => ({}));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const fsyncSync = (fd: number): void => {
    if (fault.next) throw fault.next;
    fs.fsyncSync(fd);
    synced.push(fd);
  };
  return { ...fs, fsyncSync, default: { ...fs, fsyncSync } };
});

let directory: string;
let files: DurableFiles;
let database: PGlite;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "cairn-test-durable-"));
  files = new DurableFiles(directory);
  database = await PGlite.create({ fs: files, startParams: START_PARAMETERS });
  await database.exec("create table durable (n int); insert into durable values (0); checkpoint");
});

afterAll(async () => {
  await database.close().catch(() => {});
  await rm(directory, { recursive: true, force: true });
});

const syncsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  const before = synced.length;
  await work();
  return synced.length - before;
};

it("brings every commit to the disk, and asks nothing of it for a read", async () => {
  expect(await syncsDuring(() => database.query("select * from durable"))).toBe(0);
  for (let n = 1; n <= 5; n += 1) {
    expect(await syncsDuring(() => database.query("insert into durable values ($1)", [n]))).toBe(1);
  }
});

it("puts relaxed commits off until the next one that is not, which brings them along", async () => {
  files.relaxed = true;
  expect(await syncsDuring(() => database.query("insert into durable values (10)"))).toBe(0);
  expect(files.pending).toBe(true);
  files.relaxed = false;
  expect(await syncsDuring(() => database.query("insert into durable values (11)"))).toBeGreaterThanOrEqual(1);
  expect(files.pending).toBe(false);
});

it("brings them to the disk when asked, and when their file is closed", async () => {
  files.relaxed = true;
  await database.query("insert into durable values (20)");
  expect(await syncsDuring(async () => files.flush())).toBe(1);
  await database.query("insert into durable values (21)");
  const next = async (): Promise<void> => {
    await database.query("select pg_switch_wal()");
    await database.query("insert into durable values (22)");
  };
  expect(await syncsDuring(next)).toBeGreaterThanOrEqual(1);
  files.relaxed = false;
});

it("never acknowledges a commit whose fsync failed", async () => {
  fault.next = Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });
  const insert = database.query("insert into durable values (30)").then(
    () => "acknowledged",
    () => "refused",
  );
  expect(await insert).toBe("refused");
});
