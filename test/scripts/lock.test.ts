import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { withLock } from "../../scripts/lib/lock.js";

it("lets one work at a time, and the next after it has ended or failed", async () => {
  const folder = emptyFolder();
  const events: string[] = [];
  const work = (name: string, fails: boolean) => async () => {
    events.push(`${name} begins`);
    await Promise.resolve();
    events.push(`${name} ends`);
    if (fails) throw new Error(name);
  };
  const results = await Promise.allSettled([
    withLock("x", work("a", true), folder),
    withLock("x", work("b", false), folder),
    withLock("x", work("c", false), folder),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(events).toHaveLength(6);
  for (let i = 0; i < 6; i += 2) expect(events[i + 1]).toBe(events[i]?.replace("begins", "ends"));
  expect(readdirSync(folder)).toEqual([]);
});

it("takes over from a process that has ended", async () => {
  const folder = emptyFolder();
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  writeFileSync(join(folder, "x.lock"), String(ended));
  expect(await withLock("x", () => "done", folder)).toBe("done");
  expect(readdirSync(folder)).toEqual([]);
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cairn-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
