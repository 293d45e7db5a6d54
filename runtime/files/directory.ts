/**
 * Directories and files below a directory that other users may write to. Each directory is opened by a handle and none
 * through a link, so that a link put in the way after a check is met with an error instead of being followed.
 */

import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../contracts/system-errors.ts";
import { FileRefused } from "./refusal.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** macOS has no paths relative to a handle, but this flag refuses a link in any component. */
const O_NOFOLLOW_ANY = 0x20000000;
export const hasDescriptorPaths = process.platform === "linux";
export const noLinks = process.platform === "darwin" ? O_NOFOLLOW_ANY : O_NOFOLLOW;

/** An open directory; `at` names an entry of exactly this directory, wherever its path leads by now. */
export interface OpenDirectory extends AsyncDisposable {
  readonly handle: FileHandle;
  /** Its path when it was opened. */
  readonly path: string;
  at(name: string): string;
}

/** Opens a directory that the operator names: its own path may lead through links. Errors are the file system's own. */
export async function openRoot(path: string): Promise<OpenDirectory> {
  if (hasDescriptorPaths) return openOne(path, path, 0);
  const real = await realpath(path);
  return openOne(real, real, noLinks);
}

/**
 * Opens the directory `components` below `root`, a path free of links. With `create`, missing directories are made.
 * Errors are the file system's own; ELOOP or ENOTDIR mean that a link took a directory's place.
 */
export async function openDirectory(
  root: string,
  components: readonly string[],
  create = false,
): Promise<OpenDirectory> {
  const start = await openOne(root, root, noLinks);
  if (components.length === 0) return start;
  await using _ = start;
  return await openBelow(start, components, create);
}

/** As `openDirectory`, below a directory that is open and stays so. `components` has at least one name. */
export async function openBelow(
  root: OpenDirectory,
  components: readonly string[],
  create = false,
): Promise<OpenDirectory> {
  let current = root;
  for (const name of components) {
    const parent = current;
    try {
      if (create) await makeDirectory(parent.at(name));
      current = await openOne(parent.at(name), join(parent.path, name), noLinks);
    } finally {
      if (parent !== root) await parent.handle.close();
    }
  }
  return current;
}

/** Opens a regular file for reading. FileRefused for anything else under that name. */
export async function openRegularFile(directory: OpenDirectory, name: string): Promise<FileHandle> {
  // Looked at before it is opened: opening a device can already do something.
  assertRegular(await lstat(directory.at(name)));
  const handle = await open(directory.at(name), O_RDONLY | noLinks | O_NONBLOCK);
  try {
    assertRegular(await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The entry of this name in the directory, links not followed; null when nothing does. */
export async function statEntry(directory: OpenDirectory, name: string): Promise<Stats | null> {
  try {
    return await lstat(directory.at(name));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Names and kinds of the entries, links not followed, in the order of their names. */
export async function listEntries(directory: OpenDirectory) {
  const entries = await readdir(directory.at("."), { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function assertRegular(stats: Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink">): void {
  if (stats.isFile()) return;
  throw new FileRefused(stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "symlink" : "special");
}

async function openOne(address: string, path: string, flags: number): Promise<OpenDirectory> {
  const handle = await open(address, O_RDONLY | O_DIRECTORY | flags);
  return {
    handle,
    path,
    at: (name) => (hasDescriptorPaths ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function makeDirectory(address: string): Promise<void> {
  try {
    await mkdir(address);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
