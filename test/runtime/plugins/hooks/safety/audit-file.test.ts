import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../../../../control/audit/verify-audit.ts";
import type { Logger } from "../../../../../runtime/contracts/ports.ts";
import { createAuditFile } from "../../../../../runtime/plugins/hooks/safety/index.ts";

async function setUp() {
  const base = await mkdtemp(join(tmpdir(), "cairn-audit-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const directory = join(base, "audit");
  const said: string[] = [];
  const say = (level: string) => (_fields: object, message: string) => void said.push(`${level}: ${message}`);
  const logger: Logger = { debug() {}, info() {}, warn: say("warn"), error: say("error"), child: () => logger };
  const clock = { now: () => new Date("2026-03-01T12:00:00Z"), monotonic: () => 0 };
  const path = join(directory, "2026-03-01.jsonl");
  const lines = async () =>
    (await readFile(path, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Record<string, unknown> => JSON.parse(line));
  return { file: createAuditFile({ directory, clock, logger }), directory, path, said, lines };
}

test("lines stand in the order in which they were handed over", async () => {
  const { file, lines } = await setUp();
  await Promise.all(Array.from({ length: 200 }, (_, n) => file.append({ n })));
  expect((await lines()).map(({ n }) => n)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  expect(file.status()).toEqual({ failing: null, lost: 0 });
});

test("a full disk is counted, said once, and the gap is in the log afterwards", async () => {
  const { file, directory, path, said, lines } = await setUp();
  await mkdir(directory);
  await symlink("/dev/full", path);
  for (let n = 0; n < 5; n++) await file.append({ n });
  expect(file.status()).toEqual({ failing: "ENOSPC", lost: 5 });
  expect(said).toEqual(["error: the audit log could not be written"]);
  await rm(path);
  await file.append({ n: 5 });
  await file.append({ n: 6 });
  expect(file.status()).toEqual({ failing: null, lost: 5 });
  expect(said.slice(1)).toEqual(["warn: the audit log can be written again"]);
  expect(await lines()).toMatchObject([{ event: "audit.gap", lost: 5, reason: "ENOSPC" }, { n: 5 }, { n: 6 }]);
});

test("after a failure only what is new in the day's file is read, and the chain is whole", async () => {
  const { file, directory, path } = await setUp();
  const verify = async () => (await verifyAudit(directory, { signal: AbortSignal.timeout(10_000) })).problems;
  for (let n = 0; n < 3; n++) await file.append({ n });
  const before = await readFile(path, "utf8");
  await rm(path);
  await symlink(path, path);
  await file.append({ n: 3 });
  expect(file.status()).toEqual({ failing: "ELOOP", lost: 1 });
  await rm(path);
  const changed = before.replace(/"hash":"[0-9a-f]{64}"\}\n$/, `"hash":"${"f".repeat(64)}"}\n`);
  await writeFile(path, `${changed}{"at":"cut`);
  for (let n = 4; n < 6; n++) await file.append({ n });
  expect(file.status()).toEqual({ failing: null, lost: 1 });
  const after = await readFile(path, "utf8");
  expect(await verify()).not.toEqual([]);
  await writeFile(path, `${before}${after.slice(before.length)}`);
  expect(await verify()).toEqual([]);
});

test("a day's file that went during a failure begins anew, and is not passed off as whole", async () => {
  const { file, directory, path, lines } = await setUp();
  await file.append({ n: 0 });
  await rm(path);
  await symlink(path, path);
  await file.append({ n: 1 });
  await rm(path);
  await file.append({ n: 2 });
  expect(await lines()).toMatchObject([{ event: "audit.gap", lost: 1 }, { n: 2 }]);
  expect(await verifyAudit(directory, { signal: AbortSignal.timeout(10_000) })).toMatchObject({ begins_later: true });
});
