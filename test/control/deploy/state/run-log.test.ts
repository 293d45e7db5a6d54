import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createRunLog } from "../../../../control/deploy/state/run-log.ts";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "cairn-logs-")), "logs");
});
afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));
const logAt = (minute: number) =>
  createRunLog({
    folder,
    redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    now: () => new Date(Date.UTC(2030, 0, 1, 0, minute)),
  });

it("a failed run has one file of its own, for its owner, without secrets and without git", async () => {
  const log = logAt(0);
  const file = await log.write("up", "first", "the password is hunter2");
  expect(await log.write("up --roll", "second", "more")).toBe(file);
  expect(file).toBe(join(folder, "2030-01-01T00-00-00-000Z-up.log"));
  const text = readFileSync(file ?? "", "utf8");
  expect(text).toContain("the password is [redacted]");
  expect(text).toContain("more");
  expect(statSync(file ?? "").mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("*\n");
});

it("the newest twenty are kept", async () => {
  for (let minute = 0; minute < 23; minute++) await logAt(minute).write("up", "x", "y");
  const logs = readdirSync(folder).filter((name) => name.endsWith(".log"));
  expect(logs).toHaveLength(20);
  expect(logs.sort()[0]).toContain("T00-03");
});

it("a log that cannot be written keeps no error from being told", async () => {
  // Below a file there is no folder.
  const log = createRunLog({
    folder: join(import.meta.filename, "logs"),
    redact: (text) => text,
    now: () => new Date(),
  });
  expect(await log.write("up", "x", "y")).toBeNull();
});
