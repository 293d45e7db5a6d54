/** Locks as Pulumi writes them into a folder: one reader, for unlock, status and doctor. */

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { locksFolder, readEngineLocks, removeBrokenLocks } from "../../../../control/deploy/engine/locks.ts";

const lockOf = (pid: number): string =>
  JSON.stringify({ pid, username: "ada", hostname: "box", timestamp: "2030-01-31T00:00:00Z" });

async function stateWith(files: Readonly<Record<string, string>>): Promise<string> {
  const state = await mkdtemp(join(tmpdir(), "cairn-locks-"));
  onTestFinished(() => rm(state, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    const folder = locksFolder(state, name.split("/")[0]);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name.split("/")[1] ?? ""), text);
  }
  return state;
}

it("reads those of one stack, or of all", async () => {
  const state = await stateWith({ "lab/1.json": lockOf(11), "prod/2.json": lockOf(22) });
  expect(await readEngineLocks(state, "prod")).toEqual([
    {
      stack: "prod",
      user: "ada",
      host: "box",
      pid: 22,
      started_at: "2030-01-31T00:00:00Z",
      file: join(locksFolder(state, "prod"), "2.json"),
    },
  ]);
  expect((await readEngineLocks(state)).map(({ stack, pid }) => [stack, pid])).toEqual([
    ["lab", 11],
    ["prod", 22],
  ]);
});

it("leaves out what is no lock, and finds none where there is no folder", async () => {
  const state = await stateWith({ "lab/half.json": '{"pid": 1', "lab/other.json": "[]", "lab/note.txt": lockOf(1) });
  // A pipe in a file's place would hold a reader up for ever.
  execFileSync("mkfifo", [join(locksFolder(state, "lab"), "pipe.json")]);
  expect(await readEngineLocks(state)).toEqual([]);
  expect(await readEngineLocks(join(state, "missing"), "lab")).toEqual([]);
});

it("removes what a full disk left among them, and nothing that is a lock", async () => {
  const state = await stateWith({
    "lab/1.json": lockOf(11),
    "lab/2.json": "",
    "lab/3.json.0a1b.tmp": "",
    "lab/4.json": '{"pid": 1',
    "prod/5.json": "",
  });
  expect((await removeBrokenLocks(state, "lab")).toSorted()).toEqual(["2.json", "3.json.0a1b.tmp", "4.json"]);
  expect(await readdir(locksFolder(state, "lab"))).toEqual(["1.json"]);
  expect(await readdir(locksFolder(state, "prod"))).toEqual(["5.json"]);
});

it("leaves a lock alone whose engine is still writing it", async () => {
  const state = await stateWith({ "lab/1.json": "" });
  const removing = removeBrokenLocks(state, "lab");
  await writeFile(join(locksFolder(state, "lab"), "1.json"), lockOf(11));
  expect(await removing).toEqual([]);
  expect((await readEngineLocks(state, "lab")).map(({ pid }) => pid)).toEqual([11]);
});
