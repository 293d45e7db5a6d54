import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { rotateAudit } from "../../../../../runtime/plugins/hooks/safety/index.ts";

const DAY = 86_400_000;
const ages = { audit_retention: 90 * DAY, audit_compress_after: 7 * DAY };
const now = new Date("2026-06-30T12:00:00Z");

async function directoryWith(names: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "cairn-audit-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const name of names) await writeFile(join(directory, name), `{"in":"${name}"}\n`);
  return directory;
}

it("compresses after seven days and removes after ninety, and touches nothing else", async () => {
  const directory = await directoryWith([
    "2026-06-30.jsonl",
    "2026-06-23.jsonl",
    "2026-06-22.jsonl",
    "2026-04-01.jsonl.gz",
    "2026-03-31.jsonl.gz",
    "2026-01-01.jsonl",
    "notes.txt",
    "2026-06-20.jsonl.gz.tmp",
  ]);
  const report = await rotateAudit(directory, now, ages);
  expect(report).toMatchObject({
    compressed: ["2026-06-22.jsonl"],
    removed: ["2026-01-01.jsonl", "2026-03-31.jsonl.gz"],
    warnings: [],
  });
  expect((await readdir(directory)).sort()).toEqual([
    "2026-04-01.jsonl.gz",
    "2026-06-22.jsonl.gz",
    "2026-06-23.jsonl",
    "2026-06-30.jsonl",
    "notes.txt",
  ]);
  const packed = join(directory, "2026-06-22.jsonl.gz");
  expect(gunzipSync(await readFile(packed)).toString()).toBe('{"in":"2026-06-22.jsonl"}\n');
  expect((await stat(packed)).mode & 0o777).toBe(0o600);
});

it("does the rest when it is run again after a crash between compressing and removing", async () => {
  const directory = await directoryWith(["2026-06-01.jsonl", "2026-06-01.jsonl.gz"]);
  await rotateAudit(directory, now, ages);
  expect(await readdir(directory)).toEqual(["2026-06-01.jsonl.gz"]);
  expect((await rotateAudit(directory, now, ages)).compressed).toEqual([]);
});

it("takes a directory that does not exist for an empty one", async () => {
  expect(await rotateAudit("/nowhere/audit", now, ages)).toEqual({
    compressed: [],
    removed: [],
    bytes: 0,
    warnings: [],
  });
});

it("warns of a large day and of a large total", async () => {
  const directory = await directoryWith(["2026-06-30.jsonl", "2026-06-29.jsonl"]);
  await truncate(join(directory, "2026-06-29.jsonl"), 1_200 * 1024 ** 2);
  const { warnings, bytes } = await rotateAudit(directory, now, ages);
  expect(bytes).toBeGreaterThan(1_200 * 1024 ** 2);
  expect(warnings).toEqual([
    expect.stringContaining("2026-06-29.jsonl has 1200 MB"),
    expect.stringContaining("audit_retention decides"),
  ]);
});
