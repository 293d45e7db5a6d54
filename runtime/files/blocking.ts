/**
 * Directories and files below a directory that other users may write to, as in directory.ts, for threads that do nothing else:
 * a blocking call costs a fifth of one that is awaited, and in such a thread nothing else waits for it.
 */

import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readSync, type Stats } from "node:fs";
import { join } from "node:path";
import { hasDescriptorPaths, noLinks } from "./directory.ts";

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY } = constants;

/** An open directory; `at` names an entry of exactly this directory, wherever its path leads by now. */
export interface BlockingDirectory extends Disposable {
  readonly path: string;
  at(name: string): string;
}

/** `path` is free of links. Errors are the file system's own; ELOOP or ENOTDIR mean that a link took its place. */
export function openDirectoryBlocking(path: string, address = path): BlockingDirectory {
  const descriptor = openSync(address, O_RDONLY | O_DIRECTORY | noLinks);
  return {
    path,
    at: (name) => (hasDescriptorPaths ? `/proc/self/fd/${descriptor}/${name}` : join(path, name)),
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

export function openBelowBlocking(parent: BlockingDirectory, name: string): BlockingDirectory {
  return openDirectoryBlocking(join(parent.path, name), parent.at(name));
}

/** Names and kinds of the entries, links not followed, in the order of their names. */
export function listBlocking(directory: BlockingDirectory): Dirent[] {
  return readdirSync(directory.at("."), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export interface BlockingContent {
  readonly bytes: Buffer;
  readonly stats: Stats;
}

/**
 * The content of a regular file in the first bytes of `buffer`, which the next call overwrites. `large` for one that does not fit
 * into it, null for what is no regular file; errors are the file system's own.
 */
export function readBlocking(
  directory: BlockingDirectory,
  name: string,
  buffer: Buffer,
): BlockingContent | "large" | null {
  const descriptor = openSync(directory.at(name), O_RDONLY | noLinks | O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return null;
    if (stats.size > buffer.length) return "large";
    let filled = 0;
    while (filled < stats.size) {
      const read = readSync(descriptor, buffer, filled, stats.size - filled, filled);
      if (read === 0) break;
      filled += read;
    }
    return { bytes: buffer.subarray(0, filled), stats };
  } finally {
    closeSync(descriptor);
  }
}
