/**
 * Replaces a file whole or not at all: a temporary file beside it, synced, renamed over it. The temporary name and the
 * rename go through the open directory, so that neither can be led elsewhere (a path-based library could be).
 */

import { constants } from "node:fs";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { codeOf } from "../contracts/system-errors.ts";
import { assertRegular, type OpenDirectory, statEntry } from "./directory.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Codes of file systems without hard links. */
const NO_LINKS = new Set<string | undefined>(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

export interface WriteOutcome {
  readonly created: boolean;
  readonly bytes: number;
}

/** What the file was when its content was read: a write on top of it is refused when it has changed since. */
export interface FileVersion {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}

/** The file changed between reading and writing. */
export class FileChangedError extends Error {}

/**
 * Writes `data` as `name` in `directory`. An existing regular file keeps its permissions and, where permitted, its owner; a
 * new one gets 0666 less the umask. FileRefused for anything else under that name.
 * FileChangedError when `expected` is given and no longer true; an abort before the rename leaves everything as it was.
 */
export async function writeAtomically(
  directory: OpenDirectory,
  name: string,
  data: Uint8Array,
  options: {
    /** Name of the temporary file; nothing may have it yet. */
    readonly temporary: string;
    readonly expected?: FileVersion;
    readonly signal?: AbortSignal;
  },
): Promise<WriteOutcome> {
  const existing = await statEntry(directory, name);
  if (existing) assertRegular(existing);
  const temporary = directory.at(options.temporary);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, existing ? 0o600 : 0o666);
    await handle.writeFile(data, { signal: options.signal });
    if (existing) {
      await keepOwner(handle, existing);
      // New content, so no set-user-ID bit: the kernel drops it at a write, too.
      await handle.chmod(existing.mode & 0o777);
    }
    await handle.sync();
    await handle.close();
    handle = undefined;
    if (options.expected) await assertUnchanged(directory, name, options.expected);
    options.signal?.throwIfAborted();
    await rename(temporary, directory.at(name));
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  // The rename itself must survive a power cut; a directory that cannot be synced (some network mounts) is not an error.
  await directory.handle.sync().catch(() => undefined);
  return { created: existing === null, bytes: data.byteLength };
}

/**
 * Writes a new file, whole or not at all, and never over another one: false when the name is taken, be it by a link that
 * leads nowhere.
 */
export async function createAtomically(
  directory: OpenDirectory,
  name: string,
  data: string | Uint8Array,
  options: { readonly temporary: string; readonly mode: number },
): Promise<boolean> {
  const temporary = directory.at(options.temporary);
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, options.mode);
  try {
    try {
      await handle.writeFile(data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return await giveName(directory, temporary, name);
  } finally {
    await unlink(temporary).catch(() => undefined);
    await directory.handle.sync().catch(() => undefined);
  }
}

async function giveName(directory: OpenDirectory, temporary: string, name: string): Promise<boolean> {
  try {
    await link(temporary, directory.at(name));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!NO_LINKS.has(codeOf(error))) throw error;
    if ((await statEntry(directory, name)) !== null) return false;
    await rename(temporary, directory.at(name));
    return true;
  }
}

/** A name for a temporary file that no other writer has. */
export function temporaryName(id: string): string {
  return `.cairn-${id}.tmp`;
}

export function versionOf(stats: FileVersion): FileVersion {
  return { ino: stats.ino, size: stats.size, mtimeMs: stats.mtimeMs };
}

/** A service that may change owners keeps them; one that may not writes the file as its own, as an editor would. */
async function keepOwner(handle: FileHandle, existing: { uid: number; gid: number }): Promise<void> {
  const own = await handle.stat();
  if (own.uid === existing.uid && own.gid === existing.gid) return;
  await handle.chown(existing.uid, existing.gid).catch(() => undefined);
}

async function assertUnchanged(directory: OpenDirectory, name: string, expected: FileVersion): Promise<void> {
  const now = await statEntry(directory, name);
  const same = now && now.ino === expected.ino && now.size === expected.size && now.mtimeMs === expected.mtimeMs;
  if (!same) throw new FileChangedError("the file changed while it was being edited");
}
