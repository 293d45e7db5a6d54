/**
 * The directory beside the target that a restore fills. What was there stays until the renames at the end; a killed restore leaves this
 * directory, which the next one goes on with or removes. Only its owner can look into it.
 */

import { lstat, mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { z } from "zod";
import { makePrivateDirectory } from "../../../runtime/config/index.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { exists, syncDirectory, writeDurably } from "../../../runtime/files/durable.ts";
import { summary } from "../manifest.ts";
import { type RestorePaths, stagingOf, targetsOf } from "./places.ts";

const note = z.object({
  /** Id of the backup. */
  backup: z.string(),
  /** `memory`: the restore of the memory was begun. `placing`: all is filled, and gets its names. */
  step: z.enum(["memory", "placing"]),
  counts: z.record(z.string(), z.number()),
  tokens: z.array(z.string()),
  /** Names in `backups/`. */
  archives: z.array(z.string()),
  ...summary.shape,
});
export type Note = z.infer<typeof note>;

export interface Staging {
  /** To be filled. */
  readonly directory: string;
  readonly home: string;
  /** For the archive of the memory; removed with the rest. */
  readonly archive: string;
  /** Another configuration for the time of the restore. */
  readonly configuration: string;
  /** Of an earlier restore that was killed. */
  readonly pending: Note | null;
  /** Makes both directories, empty. */
  begin(): Promise<void>;
  write(note: Note): Promise<void>;
  /** The memory is in its store: what was unsealed for it is not needed any more. */
  removeArchive(): Promise<void>;
  /** The renames; repeatable. What has its name already stays. */
  place(): Promise<void>;
  /** Removes what was filled; `keepNote`: a memory on a server may have been restored already. */
  discard(keepNote: boolean): Promise<void>;
  close(): Promise<void>;
}

const NOTE = "started";
const LOCK = "lock";
const FILLED = "filled";

export interface InterruptedRestore {
  readonly pending: Note | null;
  /** What was filled and has no name yet. */
  readonly unnamed: readonly string[];
  /** Why no restore can begin: another one works, or another user has made the directory. */
  readonly obstacle: { readonly message: string; readonly hint: string } | null;
}

/** What an earlier restore has left, as `openStaging` would find it. Changes nothing. */
export async function inspectStaging(places: RestorePaths): Promise<InterruptedRestore> {
  const targets = targetsOf(places);
  const root = stagingOf(places.directory);
  const unnamed: string[] = [];
  for (const target of targets) {
    const obstacle = await ofStaging(stagingOf(target));
    if (obstacle !== null) return { pending: null, unnamed, obstacle };
    if (await exists(join(stagingOf(target), FILLED))) unnamed.push(target);
  }
  if (await isLocked(join(root, LOCK))) return { pending: null, unnamed, obstacle: inUse(places.directory) };
  return { pending: await readNote(join(root, NOTE)), unnamed, obstacle: null };
}

async function isLocked(path: string): Promise<boolean> {
  const lock = await open(path, "r+").catch(() => null);
  if (lock === null) return false;
  try {
    return !tryLock(lock.fd);
  } finally {
    await lock.close();
  }
}

function inUse(directory: string) {
  return { message: `Another command restores into ${directory}.`, hint: "Wait for its end." };
}

/** RUNTIME_CONFLICT while another restore fills the same directory, and where another user has made it. */
export async function openStaging(places: RestorePaths): Promise<Staging> {
  const root = stagingOf(places.directory);
  const isApart = places.homeBelow === null;
  const homeRoot = isApart ? stagingOf(places.home) : null;
  makePrivateDirectory(dirname(root));
  if (homeRoot !== null) makePrivateDirectory(dirname(homeRoot));
  await makeOwn(root);
  const lock = await open(join(root, LOCK), "a+", 0o600);
  if (!tryLock(lock.fd)) {
    await lock.close();
    const { message, hint } = inUse(places.directory);
    throw new RuntimeError("RUNTIME_CONFLICT", message, { hint });
  }
  if (homeRoot !== null) await makeOwn(homeRoot);
  const directory = join(root, FILLED);
  const home = homeRoot === null ? join(directory, places.homeBelow ?? "") : join(homeRoot, FILLED);
  const archive = join(root, "memory.backup");
  const configuration = join(root, "restore.yaml");
  const clear = async (kept: readonly string[]): Promise<void> => {
    if (homeRoot !== null) await rm(homeRoot, { recursive: true, force: true });
    // The note last: what it says holds as long as anything is there.
    const names = (await readdir(root)).filter((name) => name !== NOTE);
    for (const name of [...names, NOTE]) {
      if (!kept.includes(name)) await rm(join(root, name), { recursive: true, force: true });
    }
  };
  return {
    directory,
    home,
    archive,
    configuration,
    pending: await readNote(join(root, NOTE)),
    async begin() {
      await clear([LOCK, NOTE]);
      if (homeRoot !== null) await makeOwn(homeRoot);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await mkdir(home, { recursive: true, mode: 0o700 });
    },
    write: (value) => writeDurably(join(root, NOTE), `${JSON.stringify(value)}\n`, { mode: 0o600 }),
    async removeArchive() {
      for (const path of [archive, configuration]) await rm(path, { force: true });
    },
    async place() {
      // The directory is last: without a cairn.yaml there is no deployment.
      if (isApart) await giveName(home, places.home);
      await giveName(directory, places.directory);
    },
    discard: (keepNote) => clear([LOCK, ...(keepNote ? [NOTE] : [])]),
    async close() {
      if ((await readdir(root)).every((name) => name === LOCK)) await rm(root, { recursive: true, force: true });
      await lock.close();
    },
  };
}

const WRITABLE_BY_OTHERS = 0o022;

/** In a directory where others may write, such as /tmp, one of them could have it ready, and put their files into the deployment. */
async function makeOwn(path: string): Promise<void> {
  if ((await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined) return;
  const obstacle = await ofStaging(path);
  if (obstacle === null) return;
  const { message, hint } = obstacle;
  throw new RuntimeError("RUNTIME_CONFLICT", message, { hint: `Nothing was changed. ${hint}` });
}

async function ofStaging(path: string) {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return null;
  const isOwn = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & WRITABLE_BY_OTHERS) === 0;
  if (isOwn) return null;
  const hint = "Remove it, or name another directory with --dir.";
  return { message: `${path} is in the way: others can write to it.`, hint };
}

/** Over an empty directory, never over anything else. */
async function giveName(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  await rmdir(to).catch((error: unknown) => {
    if (codeOf(error) === "ENOTEMPTY") throw notEmpty(to);
    if (codeOf(error) !== "ENOENT") throw error;
  });
  await rename(from, to);
  await syncDirectory(dirname(to));
}

function notEmpty(path: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", `Something was put into ${path} since the restore was begun.`, {
    hint: "Move that away, and run the command again.",
  });
}

/** Null where there is none that can be read. */
async function readNote(path: string): Promise<Note | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    return note.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
