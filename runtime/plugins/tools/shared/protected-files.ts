/**
 * Whether an open file is one of the service's own under another name. A hard link has the inode of what it was linked from,
 * so the files of the protected directories are identified by their inodes. Only files with a second name are looked up: pnpm, uv
 * and git make many of those, and agents read them.
 */

import type { Stats } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isWithin } from "../../../domain/workspace-path.ts";

export interface ProtectedFiles {
  /** `root` is the resolved workspace: a protected directory around it is no matter here, only what was named inside it. */
  has(file: Pick<Stats, "dev" | "ino" | "nlink">, root: string): Promise<boolean>;
}

interface Listing {
  readonly inode: string;
  readonly mtimeMs: number;
  readonly directories: readonly string[];
  readonly inodes: ReadonlySet<string>;
}

/** Entries that are checked; in a larger home a file with a second name is refused unchecked. */
const MOST_ENTRIES = 100_000;
/** Time stamps of file systems are coarse: a directory that was changed just now can change again without a trace. */
const STABLE_MS = 2_000;

export function createProtectedFiles(paths: readonly string[], now: () => number = Date.now): ProtectedFiles {
  /** A link to a file changes neither the names nor the inodes in its directory, so a listing holds while its time stays. */
  const listings = new Map<string, Listing>();

  async function list(directory: string, stats: Stats): Promise<Listing> {
    const cached = listings.get(directory);
    if (cached && cached.inode === identityOf(stats) && cached.mtimeMs === stats.mtimeMs) return cached;
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    const files = await Promise.all(
      entries.filter((entry) => entry.isFile()).map(({ name }) => lstat(join(directory, name)).catch(() => null)),
    );
    const listing: Listing = {
      inode: identityOf(stats),
      mtimeMs: stats.mtimeMs,
      directories: entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name)),
      inodes: new Set(files.flatMap((file) => (file === null ? [] : [identityOf(file)]))),
    };
    if (Math.abs(now() - stats.mtimeMs) > STABLE_MS) listings.set(directory, listing);
    else listings.delete(directory);
    return listing;
  }

  return {
    async has(file, root) {
      if (file.nlink < 2) return false;
      const wanted = identityOf(file);
      const resolved = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
      const open = resolved.filter((path) => !isWithin(path, root));
      const seen = new Set<string>();
      let entries = 0;
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        if (seen.has(path)) continue;
        seen.add(path);
        const stats = await stat(path).catch(() => null);
        if (stats === null) continue;
        if (!stats.isDirectory()) {
          if (identityOf(stats) === wanted) return true;
          continue;
        }
        const listing = await list(path, stats);
        if (listing.inodes.has(wanted)) return true;
        entries += listing.inodes.size + listing.directories.length;
        if (entries > MOST_ENTRIES) return true;
        open.push(...listing.directories);
      }
      return false;
    },
  };
}

function identityOf({ dev, ino }: Pick<Stats, "dev" | "ino">): string {
  return `${dev}:${ino}`;
}
