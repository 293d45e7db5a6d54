/**
 * Makes repairs one by one. Each is one step of the file system, so that an interruption leaves the old or the new; a copy
 * of what is changed is made first. One that fails stops no other.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { createAtomically, temporaryName, writeAtomically } from "../../../runtime/files/atomic-write.ts";
import { openRoot } from "../../../runtime/files/directory.ts";
import { copyName, createDurably, keepCopy, writeDurably } from "../../../runtime/files/durable.ts";
import { readOwnFile, readRegularFile, reasonOf } from "../context/regular-file.ts";
import type { RepairReport } from "../report.ts";
import type { Planned, Repair } from "./repair.ts";

export interface ApplyOptions {
  /** No repair is begun once it has aborted. */
  readonly signal: AbortSignal;
  /** Steps of a repair; tests end the process there. */
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
        await refuseChanged(repair);
        backup = await copyOf(repair);
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
      return repair.root === undefined
        ? createFile(repair.path, repair.after, repair.mode)
        : createBelow(repair.root, repair);
    case "change":
      return repair.root === undefined
        ? changeFile(repair, repair.path, repair.after)
        : changeBelow(repair.root, repair);
  }
}

/** Through an open file: what was checked is what is changed, even if the path is replaced meanwhile. */
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
  if (!(await createDurably(path, text, mode))) throw new Error("it is there by now; look again");
}

/** In a directory that agents may write to: through its handle, and never over anything that has the name. */
async function createBelow(root: string, { path, after, mode }: Extract<Repair, { kind: "create" }>): Promise<void> {
  await using directory = await openRoot(root);
  const temporary = temporaryName(randomUUID());
  if (!(await createAtomically(directory, basename(path), after, { temporary, mode }))) {
    throw new Error("it is there by now; look again");
  }
}

async function changeBelow(root: string, repair: Change): Promise<void> {
  await using directory = await openRoot(root);
  await refuseChanged(repair);
  const temporary = temporaryName(randomUUID());
  await writeAtomically(directory, basename(repair.path), Buffer.from(repair.after, "utf8"), { temporary });
}

async function changeFile(repair: Change, path: string, after: string): Promise<void> {
  const { mode, uid, gid } = await stat(path);
  await refuseChanged(repair);
  // A link stays a link: it is the file behind it that gets the new text.
  await writeDurably(path, after, { mode: mode & 0o7777, owner: { uid, gid } });
}

type Change = Extract<Repair, { kind: "change" }>;

async function refuseChanged({ path, root, before }: Change): Promise<void> {
  const now = root === undefined ? await readRegularFile(path) : await readOwnFile(root, basename(path));
  if (now !== before) throw new Error("it was changed meanwhile; look again");
}

/** What agents may replace is not copied by its path: the text that was read is written. */
async function copyOf({ path, root, before }: Change): Promise<string> {
  if (root === undefined) return keepCopy(path);
  await using directory = await openRoot(root);
  for (let number = 1; ; number += 1) {
    const copy = copyName(path, number);
    const temporary = temporaryName(randomUUID());
    if (await createAtomically(directory, basename(copy), before, { temporary, mode: 0o600 })) return copy;
  }
}
