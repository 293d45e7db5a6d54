/**
 * Makes repairs one by one. Each is one step of the file system, so that an interruption leaves the old or the new; a copy
 * of what is changed is made first. One that fails stops no other.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { RepairReport } from "../report.ts";
import { codeOf, readRegularFile, reasonOf } from "../scene/regular-file.ts";
import type { Planned, Repair } from "./repair.ts";

/** What file systems without hard links say. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

export interface ApplyOptions {
  /** No repair is begun once it has aborted. */
  readonly signal: AbortSignal;
  /** Where a repair stands; tests end the process there. */
  readonly onStep?: (step: "backed-up" | "repaired", repair: Repair) => void;
}

export async function applyRepairs(
  planned: readonly Planned[],
  { signal, onStep }: ApplyOptions,
): Promise<RepairReport[]> {
  const reports: RepairReport[] = [];
  for (const { check, repair } of planned) {
    signal.throwIfAborted();
    let backup: string | null = null;
    const about = { check, path: repair.path, action: repair.kind };
    try {
      if (repair.kind === "change") {
        await refuseChanged(repair.path, repair.before);
        backup = await keepCopy(repair.path);
        onStep?.("backed-up", repair);
      }
      await apply(repair);
      onStep?.("repaired", repair);
      reports.push({ ...about, outcome: "done", backup });
    } catch (error) {
      reports.push({ ...about, outcome: "failed", backup, error: reasonOf(error) });
    }
  }
  return reports;
}

async function apply(repair: Repair): Promise<void> {
  switch (repair.kind) {
    case "mode":
      return changeMode(repair.path, repair.from, repair.to);
    case "directory":
      await mkdir(repair.path, { recursive: true, mode: repair.mode });
      return;
    case "create":
      return createFile(repair.path, repair.after, repair.mode);
    case "change":
      return changeFile(repair.path, repair.before, repair.after);
  }
}

/** Through an open file: what was looked at is what is changed, whatever takes its name meanwhile. */
async function changeMode(path: string, from: number, to: number): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const mode = (await handle.stat()).mode & 0o7777;
    if ((mode & 0o777) !== (from & 0o777)) throw new Error("its mode was changed meanwhile; look again");
    await handle.chmod(to);
  } finally {
    await handle.close();
  }
}

/** A whole new file or none, and never over another one. */
async function createFile(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFileAtomic(temporary, text, { mode });
    await link(temporary, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw new Error("it is there by now; look again");
    if (!NO_LINKS.has(codeOf(error))) throw error;
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function changeFile(path: string, before: string, after: string): Promise<void> {
  const { mode, uid, gid } = await stat(path);
  await refuseChanged(path, before);
  // A link stays a link: it is the file behind it that gets the new text.
  await writeFileAtomic(path, after, { mode: mode & 0o7777, chown: { uid, gid } });
}

async function refuseChanged(path: string, before: string): Promise<void> {
  if ((await readRegularFile(path)) !== before) throw new Error("it was changed meanwhile; look again");
}

/** `cairn.yaml.bak`, or the first number after it that is free; as private as the file itself. */
async function keepCopy(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const copy = `${path}.bak${number === 1 ? "" : `-${number}`}`;
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL);
      return copy;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}
