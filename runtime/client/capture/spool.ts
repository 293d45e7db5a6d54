/**
 * The private directory of batches that the node could not take: waiting files in it, refused ones in `dead/`, files
 * that are no batch in `bad/`. Processes share it without locks: a file is written once under a name of its own, and
 * removed only when the node has its events. Two that replay the same file deliver the same event ids, which is harmless.
 */

import { randomBytes } from "node:crypto";
import { lstat, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureBatch } from "../../contracts/capture.ts";
import { MemoryError } from "../../contracts/errors.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { syncDirectory } from "../../files/durable.ts";
import { preparePrivateDirectory, TEMPORARY_PREFIX, writePrivateFile } from "./private-files.ts";
import { parseSpoolFile, parseSpoolName, type SpoolFile, type SpoolName, spoolName } from "./spool-file.ts";
import type { SpoolProblem, SpoolStatus } from "./types.ts";

export interface SpoolOptions {
  readonly directory: string;
  readonly maxBytes: number;
  readonly now: () => number;
  readonly onProblem: (problem: SpoolProblem) => void;
}

/** Larger files were not written by us: a batch is at most a request. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A temporary file older than this belongs to a process that has ended. */
const STALE_MS = 3_600_000;
const NEARLY_FULL = 0.8;

export class Spool {
  readonly #options: SpoolOptions;
  readonly #dead: string;
  readonly #bad: string;
  #prepared: Promise<void> | null = null;
  #reportedNearlyFull = false;
  /** Bytes in a directory of ours, as of the first count plus what was written since. */
  readonly #sizes = new Map<string, number>();

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#dead = join(options.directory, "dead");
    this.#bad = join(options.directory, "bad");
  }

  /** The waiting files, oldest first. Removes what a crash left half-written. */
  async waiting(): Promise<SpoolName[]> {
    const { directory } = this.#options;
    const names = await readdir(directory).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return [];
      throw unwritable(directory, error);
    });
    await this.#removeStale(names.filter((name) => name.startsWith(TEMPORARY_PREFIX)));
    return namesOf(names);
  }

  /** Null when another process was quicker, or when the file was no batch and was set aside. */
  async read({ name }: SpoolName): Promise<SpoolFile | null> {
    const path = join(this.#options.directory, name);
    try {
      const found = await lstat(path);
      if (!found.isFile() || found.size > MAX_FILE_BYTES) {
        await this.#setAside(name, found.isFile() ? "is larger than any batch" : "is not a regular file");
        return null;
      }
      const file = parseSpoolFile(await readFile(path, "utf8"));
      if (typeof file !== "string") return file;
      await this.#setAside(name, file);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") await this.#setAside(name, `cannot be read: ${messageOf(error)}`);
    }
    return null;
  }

  /** MEMORY_SPOOL_FULL, MEMORY_SPOOL_UNWRITABLE: then nothing of it is there. */
  async add(batch: CaptureBatch): Promise<void> {
    await this.#write(this.#options.directory, { version: 1, batch }, await this.#nextTime());
  }

  /** The node has its events, or another process was quicker. */
  async remove({ name }: SpoolName): Promise<void> {
    await rm(join(this.#options.directory, name), { force: true });
  }

  /** Keeps a batch that the node refused; `from` is the waiting file that it was read from. Answers the file's name. */
  async bury(batch: CaptureBatch, refused: NonNullable<SpoolFile["refused"]>, from?: SpoolName): Promise<string> {
    const time = from?.time ?? this.#options.now();
    try {
      const name = await this.#write(this.#dead, { version: 1, batch, refused }, time);
      if (from !== undefined) await this.remove(from);
      return name;
    } catch (error) {
      if (from === undefined) throw error;
      // No room for the reason: the batch itself needs none.
      await rename(join(this.#options.directory, from.name), join(this.#dead, from.name)).catch(ignoreMissing);
      return from.name;
    }
  }

  async status(): Promise<SpoolStatus> {
    const { directory } = this.#options;
    const waiting = await this.waiting();
    const count = async (path: string) => (await readdir(path).catch(() => [])).filter(isVisible).length;
    const [oldest] = waiting;
    return {
      directory,
      waiting: waiting.length,
      dead: await count(this.#dead),
      bad: await count(this.#bad),
      bytes: await bytesIn(directory),
      oldest: oldest === undefined ? null : new Date(oldest.time).toISOString(),
    };
  }

  async requeueDead(): Promise<number> {
    const names = namesOf(await readdir(this.#dead).catch(() => []));
    for (const { name } of names) {
      await rename(join(this.#dead, name), join(this.#options.directory, name)).catch(ignoreMissing);
    }
    if (names.length > 0) await syncDirectory(this.#options.directory);
    return names.length;
  }

  async #write(directory: string, file: SpoolFile, time: number): Promise<string> {
    const text = `${JSON.stringify(file)}\n`;
    try {
      await this.#prepare();
      await this.#checkRoom(directory, Buffer.byteLength(text));
      const name = spoolName(time, randomBytes(6).toString("hex"), file.batch.session_key);
      await writePrivateFile(join(directory, name), text);
      this.#sizes.set(directory, (this.#sizes.get(directory) ?? 0) + Buffer.byteLength(text));
      return name;
    } catch (error) {
      throw unwritable(directory, error);
    }
  }

  /** Not before any file that waits: a clock that was set back must not turn the order round. */
  async #nextTime(): Promise<number> {
    return Math.max(this.#options.now(), ((await this.waiting()).at(-1)?.time ?? 0) + 1);
  }

  /** Counts again before it refuses: other processes may have delivered. */
  async #checkRoom(directory: string, more: number): Promise<void> {
    const { maxBytes } = this.#options;
    const cached = this.#sizes.get(directory);
    let bytes = (cached ?? (await bytesIn(directory))) + more;
    if (bytes > maxBytes && cached !== undefined) bytes = (await bytesIn(directory)) + more;
    this.#sizes.set(directory, bytes - more);
    if (bytes > maxBytes) {
      throw new MemoryError("MEMORY_SPOOL_FULL", `${directory} is full: it may hold ${maxBytes} bytes.`, {
        hint: "Start the node: what waits is delivered before the next batch. Nothing is dropped to make room.",
      });
    }
    if (bytes > maxBytes * NEARLY_FULL && !this.#reportedNearlyFull) {
      this.#reportedNearlyFull = true;
      this.#options.onProblem({ kind: "nearly-full", bytes, maxBytes });
    }
  }

  async #prepare(): Promise<void> {
    this.#prepared ??= (async () => {
      for (const path of [this.#options.directory, this.#dead, this.#bad]) await preparePrivateDirectory(path);
    })();
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = null;
      throw error;
    }
  }

  /** Sets it aside, so that the others are sent; a file that cannot be moved is reported and skipped. */
  async #setAside(name: string, reason: string): Promise<void> {
    await this.#prepare();
    await rename(join(this.#options.directory, name), join(this.#bad, name)).catch(() => undefined);
    this.#options.onProblem({ kind: "bad-file", file: join(this.#bad, name), reason });
  }

  async #removeStale(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.#options.directory, name);
      const found = await stat(path).catch(() => null);
      if (found !== null && this.#options.now() - found.mtimeMs > STALE_MS) await rm(path, { force: true });
    }
  }
}

function namesOf(names: readonly string[]): SpoolName[] {
  return names
    .flatMap((name) => parseSpoolName(name) ?? [])
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

async function bytesIn(directory: string): Promise<number> {
  let sum = 0;
  for (const { name } of namesOf(await readdir(directory).catch(() => []))) {
    const found = await stat(join(directory, name)).catch(() => null);
    sum += found?.size ?? 0;
  }
  return sum;
}

function isVisible(name: string): boolean {
  return !name.startsWith(".");
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== "ENOENT") throw error;
}

function unwritable(directory: string, error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const code = codeOf(error);
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new MemoryError("MEMORY_SPOOL_FULL", `There is no room on the disk of ${directory}.`, {
      cause: error,
      hint: "Free some; the batch was not kept.",
    });
  }
  return new MemoryError("MEMORY_SPOOL_UNWRITABLE", `${directory} cannot be used: ${messageOf(error)}`, {
    cause: error,
    hint: "It must be a directory that this user may write.",
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
