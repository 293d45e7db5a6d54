/**
 * Opens what was located without trusting the path a second time: one directory after the other, each by a handle and
 * none through a link, so that a link put in the way after the check is met with an error instead of being followed.
 */

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "../../../contracts/errors.ts";
import { errnoOf } from "./file-errors.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** macOS has no paths relative to a handle, but this flag refuses a link in any component. */
const O_NOFOLLOW_ANY = 0x20000000;
const hasDescriptorPaths = process.platform === "linux";
const noLinks = process.platform === "darwin" ? O_NOFOLLOW_ANY : O_NOFOLLOW;

/** An open directory; `at` names an entry of exactly this directory, wherever its path leads by now. */
export interface OpenDirectory extends AsyncDisposable {
  readonly handle: FileHandle;
  at(name: string): string;
}

/**
 * Opens the directory `components` below `root` (both as `locate` returned them). With `create`, missing directories are
 * made. Errors are the file system's own; ELOOP or ENOTDIR mean that a link took a directory's place.
 */
export async function openDirectory(
  root: string,
  components: readonly string[],
  create = false,
): Promise<OpenDirectory> {
  let current = await openOne(root, root);
  let path = root;
  for (const name of components) {
    const parent = current;
    path = join(path, name);
    try {
      if (create) await makeDirectory(parent.at(name));
      current = await openOne(parent.at(name), path);
    } finally {
      await parent.handle.close();
    }
  }
  return current;
}

/** Opens a regular file for reading. TOOL_REFUSED for a device, a pipe or a socket, TOOL_INVALID_ARGUMENTS for a directory. */
export async function openRegularFile(directory: OpenDirectory, name: string, shown: string): Promise<FileHandle> {
  // Looked at before it is opened: opening a device can already do something.
  assertRegular(await lstat(directory.at(name)), shown);
  const handle = await open(directory.at(name), O_RDONLY | noLinks | O_NONBLOCK);
  try {
    assertRegular(await handle.stat(), shown);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** What stands under this name in the directory, links not followed; null when nothing does. */
export async function statEntry(directory: OpenDirectory, name: string) {
  try {
    return await lstat(directory.at(name));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}

export function assertRegular(
  stats: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean },
  shown: string,
): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new ToolError("TOOL_INVALID_ARGUMENTS", `${shown}: it is a directory.`);
  if (stats.isSymbolicLink()) {
    throw new ToolError(
      "TOOL_OUTSIDE_WORKSPACE",
      `${shown}: a symbolic link took its place while it was being opened.`,
    );
  }
  throw new ToolError("TOOL_REFUSED", `${shown}: it is a device, a pipe or a socket; only regular files are opened.`);
}

async function openOne(address: string, path: string): Promise<OpenDirectory> {
  const handle = await open(address, O_RDONLY | O_DIRECTORY | noLinks);
  return {
    handle,
    at: (name) => (hasDescriptorPaths ? `/proc/self/fd/${handle.fd}/${name}` : join(path, name)),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function makeDirectory(address: string): Promise<void> {
  try {
    await mkdir(address);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
