/**
 * Files of our own that are written whole or not at all, and are on disk when the call resolves: a temporary file beside the
 * name, synced, given the name, the directory synced. For places that only we and the operator write to; what agents may
 * write to is reached by open directories (atomic-write.ts).
 */

import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, type FileHandle, link, lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../contracts/system-errors.ts";

/** Codes of file systems without hard links. */
const NO_LINKS = new Set<string | undefined>(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);
/** Codes of file systems that cannot sync a directory, or do not let this user do it. */
const NO_SYNC = new Set<string | undefined>(["EINVAL", "ENOTSUP", "EPERM", "EACCES", "EISDIR"]);
const MODE_BITS = 0o7777;

export interface WriteOptions {
  /** Whatever the umask; default: that of the file that is there, else 0666 less the umask. */
  readonly mode?: number;
  /** Default: that of the file that is there. Kept where this user may not change it. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** Path of the temporary file, in the same directory; default: the path with an ending. Nothing may have it yet. */
  readonly temporary?: string;
}

/** Replaces what has the name; a link stays one, and the file behind it is replaced. Leaves nothing behind when it fails. */
export async function writeDurably(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
  const real = await realpath(path).catch(() => path);
  const existing = await stat(real).catch(() => null);
  const mode = options.mode ?? (existing === null ? undefined : existing.mode & MODE_BITS);
  const owner = options.owner ?? existing ?? undefined;
  const temporary = options.temporary ?? temporaryName(real);
  try {
    if (mode === undefined) await writeNew(temporary, data, 0o666);
    else await writeExactly(temporary, data, mode, owner);
    await rename(temporary, real);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(real));
}

/** False when something has the name already, or another process was first: that stays as it is. Mode: 0666 less the umask. */
export async function createDurably(path: string, data: string | Uint8Array, mode?: number): Promise<boolean> {
  const temporary = temporaryName(path);
  try {
    if (mode === undefined) await writeNew(temporary, data, 0o666);
    else await writeExactly(temporary, data, mode, undefined);
    if (!(await giveName(temporary, path))) return false;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncDirectory(dirname(path));
  return true;
}

/** Gives a file one more name, never over another file: false when the name is taken. Without hard links it is moved. */
export async function giveName(path: string, name: string): Promise<boolean> {
  try {
    await link(path, name);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!NO_LINKS.has(codeOf(error))) throw error;
    if (await exists(name)) return false;
    await rename(path, name);
    return true;
  }
}

/** Copies to `PATH.bak`, or the first number after it that is free; as private as the file itself. The copy's path. */
export async function keepCopy(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const copy = copyName(path, number);
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL);
      return copy;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}

/** `cairn.yaml.bak`, `cairn.yaml.bak-2`, ... */
export function copyName(path: string, number: number): string {
  return `${path}.bak${number === 1 ? "" : `-${number}`}`;
}

/** Makes the names in a directory durable; file systems that cannot do it are passed over. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, "r");
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!NO_SYNC.has(codeOf(error))) throw error;
  }
}

/** True also for a link that leads nowhere: the name is taken. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** SHA-256, hexadecimal. */
export function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A file under a name that nothing has, with the mode less the umask; on disk when it resolves, its name not yet. */
async function writeNew(
  path: string,
  data: string | Uint8Array,
  mode: number,
  finish?: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(data);
    await finish?.(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Closed to other users until it has its owner and its mode. */
async function writeExactly(path: string, data: string | Uint8Array, mode: number, owner: WriteOptions["owner"]) {
  await writeNew(path, data, mode & 0o600, async (file) => {
    if (owner !== undefined) await keepOwner(file, owner);
    await file.chmod(mode);
  });
}

/** A service that may change owners keeps them; one that may not writes the file as its own, as an editor would. */
async function keepOwner(file: FileHandle, owner: NonNullable<WriteOptions["owner"]>): Promise<void> {
  const own = await file.stat();
  if (own.uid !== owner.uid || own.gid !== owner.gid) await file.chown(owner.uid, owner.gid).catch(() => undefined);
}

function temporaryName(path: string): string {
  return `${path}.${randomUUID()}`;
}
