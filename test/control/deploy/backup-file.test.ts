import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isBackup } from "../../../control/deploy/backup-file.ts";

const ARCHIVE = gzipSync('{"$archive":"cairn","format":1}\n{"$section":"notes"}\n');
const { signal } = new AbortController();
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "cairn-backup-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it.each<[string, string | Buffer, boolean]>([
  ["a whole archive", ARCHIVE, true],
  ["an archive that was cut off", ARCHIVE.subarray(0, -9), false],
  ["an archive with a byte changed", Buffer.from(ARCHIVE).fill(0, 20, 21), false],
  ["something else that is gzipped", gzipSync("archive"), false],
  ["a text", '{"$archive":"cairn"}', false],
  ["nothing", "", false],
])("%s is told", async (_what, bytes, whole) => {
  const file = join(dir, "file");
  writeFileSync(file, bytes);
  expect(await isBackup(file, signal)).toBe(whole);
});

it("what is not there, or no file, is no backup", async () => {
  expect(await isBackup(join(dir, "none"), signal)).toBe(false);
  expect(await isBackup(dir, signal)).toBe(false);
});
