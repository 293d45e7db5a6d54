/**
 * The directory of a node's scheduled backups. What has the name of a backup was written to its end, is on disk, and was read back;
 * whatever an attempt had begun is under another name, and is deleted by the next one.
 */

import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError, RuntimeError } from "../../contracts/errors.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { timeOfBackup } from "../../domain/backup-schedule.ts";
import { syncDirectory } from "../../files/durable.ts";

export interface StoredBackup {
  readonly name: string;
  /** Milliseconds since 1970, of its snapshot. */
  readonly at: number;
  readonly bytes: number;
}

/** Of the file system, in bytes. */
export interface DiskSpace {
  readonly free: number;
  readonly total: number;
}

export interface NewBackup {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** What it will need on the disk, with temporary files. */
  readonly expectedBytes: number;
  /** Rejects when the file at the path is no whole archive. */
  readonly verify: (path: string) => Promise<void>;
  readonly signal: AbortSignal;
}

const PARTIAL = ".partial";
const STAGING = ".staging";
/** The database may be on the same disk: a backup stops before it is full. A twentieth of the disk, at most this. */
const MAX_RESERVE = 1024 ** 3;
const CHECK_EVERY = 8 * 1024 ** 2;
const FULL = new Set<string | undefined>(["ENOSPC", "EDQUOT"]);
const REFUSED = new Set<string | undefined>(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"]);

export class BackupDirectory {
  readonly path: string;
  readonly #space: () => Promise<DiskSpace>;

  constructor(path: string, space: (path: string) => Promise<DiskSpace> = spaceOf) {
    this.path = path;
    this.#space = () => space(path);
  }

  /** For temporary files of a snapshot. */
  get staging(): string {
    return join(this.path, STAGING);
  }

  /** Newest first; none where there is no directory. */
  async list(): Promise<readonly StoredBackup[]> {
    const names = await readdir(this.path).catch(ifMissing([]));
    const found = await Promise.all(
      names.map(async (name): Promise<StoredBackup | null> => {
        const at = timeOfBackup(name);
        const file = at === null ? null : await stat(join(this.path, name)).catch(ifMissing(null));
        return at === null || !file?.isFile() ? null : { name, at, bytes: file.size };
      }),
    );
    return found.filter((file) => file !== null).toSorted((a, b) => b.at - a.at);
  }

  /** Path of a backup that is there; RUNTIME_NOT_FOUND for every other name. */
  async pathOf(name: string): Promise<string> {
    const there = (await this.list()).some((file) => file.name === name);
    if (there) return join(this.path, name);
    throw new RuntimeError("RUNTIME_NOT_FOUND", "This node has no such scheduled backup.", {
      hint: "`cairn memory backups` lists those that there are.",
    });
  }

  /** RUNTIME_NOT_FOUND before the first byte. */
  async *read(name: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* createReadStream(await this.pathOf(name), { signal });
  }

  /** Readable by its owner alone. MEMORY_STORE_FULL, or the failure in words; leaves nothing behind when it fails. */
  async write(backup: NewBackup): Promise<StoredBackup> {
    const partial = join(this.path, `.${backup.name}${PARTIAL}`);
    try {
      await mkdir(this.path, { recursive: true, mode: 0o700 });
      await this.#sweep();
      await this.#assertSpace(backup.expectedBytes);
      const bytes = await this.#pour(partial, backup);
      await backup.verify(partial);
      backup.signal.throwIfAborted();
      await rename(partial, join(this.path, backup.name));
      await syncDirectory(this.path);
      return { name: backup.name, at: timeOfBackup(backup.name) ?? 0, bytes };
    } catch (error) {
      throw inWords(error, this.path);
    } finally {
      await this.#sweep().catch(() => undefined);
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.path, name), { force: true });
  }

  async #pour(path: string, { bytes, signal }: NewBackup): Promise<number> {
    let total = 0;
    let checked = 0;
    const file = await open(path, "wx", 0o600);
    try {
      for await (const chunk of bytes) {
        signal.throwIfAborted();
        await file.writeFile(chunk);
        total += chunk.byteLength;
        if (total - checked < CHECK_EVERY) continue;
        await this.#assertSpace(0);
        checked = total;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return total;
  }

  async #assertSpace(wanted: number): Promise<void> {
    const { free, total } = await this.#space();
    if (free - wanted >= Math.min(MAX_RESERVE, total / 20)) return;
    throw full(this.path);
  }

  /** What an attempt has left that was killed. This node takes one at a time, and no other process has its home. */
  async #sweep(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true });
    const names = await readdir(this.path).catch(ifMissing([]));
    for (const name of names) if (name.endsWith(PARTIAL)) await rm(join(this.path, name), { force: true });
  }
}

async function spaceOf(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { free: bavail * bsize, total: blocks * bsize };
}

function full(path: string, cause?: unknown): MemoryError {
  return new MemoryError("MEMORY_STORE_FULL", `The disk has no room for another backup in ${path}.`, {
    cause,
    hint: "Free some space there, or lower memory.backup.keep.",
  });
}

function inWords(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (FULL.has(code)) return full(path, error);
  if (!REFUSED.has(code)) return error;
  return new MemoryError("MEMORY_STORE_FULL", `The node cannot write to ${path} (${code}).`, {
    cause: error,
    hint: "It has to be a directory of the node's own user.",
  });
}

function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === "ENOENT") return value;
    throw error;
  };
}
