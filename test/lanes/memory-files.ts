/**
 * Temporary files of a run in memory, where Linux has room for them: stores and servers of tests sync thousands of small
 * writes, each of which waits for the disk. What the end of a process does to files is the same there.
 */

import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

const MEMORY = "/dev/shm";
const PREFIX = "cairn-tests-";
/** Twice what a complete run has at a time. */
const WANTED_BYTES = 4 * 1024 ** 3;

/**
 * Points TMPDIR of this process, and of all that it starts, to a folder in memory, which goes with the process. The folder on
 * the disk, for what should outlive a run, is then in CAIRN_TEST_DISK. Does nothing where memory is short or missing.
 */
export function keepFilesInMemory(): void {
  if (process.platform !== "linux" || process.env.CAIRN_TEST_DISK !== undefined || !hasRoom()) return;
  for (const name of readdirSync(MEMORY))
    if (isAbandoned(name)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
  mkdirSync(folder, { recursive: true });
  // As the one that it stands for: servers of tests run as another user.
  chmodSync(folder, 0o1777);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.env.CAIRN_TEST_DISK = tmpdir();
  process.env.TMPDIR = folder;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) >= WANTED_BYTES;
  } catch {
    return false;
  }
}

/** Whether it is the folder of a run that was killed. */
function isAbandoned(name: string): boolean {
  const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN;
  if (!Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}
