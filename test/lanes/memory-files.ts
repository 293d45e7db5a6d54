/**
 * Stores of tests in memory, where Linux has room for them: they sync thousands of small writes, each of which waits for the
 * disk. What the end of a process does to files is the same there. Other tests stay where a machine has its temporary files:
 * commands in a sandbox see a /tmp and a /dev of their own.
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
 * What the environment of tests with stores needs: TMPDIR in memory, and the folder on the disk, for what should outlive a run.
 * Nothing where memory is short or missing. The folder goes with this process, and CAIRN_TEST_MEMORY names it in all that it starts.
 */
export function filesInMemory(): Readonly<Record<string, string>> {
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
  const found = { TMPDIR: folder, CAIRN_TEST_DISK: tmpdir() };
  // Each project reads the configuration anew.
  if (process.env.CAIRN_TEST_MEMORY === folder) return found;
  if (process.platform !== "linux" || !hasRoom()) return {};
  for (const name of readdirSync(MEMORY)) {
    if (isAbandoned(name)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  mkdirSync(folder, { recursive: true });
  // As the one that it stands for: servers of tests run as another user.
  chmodSync(folder, 0o1777);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.env.CAIRN_TEST_MEMORY = folder;
  return found;
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
