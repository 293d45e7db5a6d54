/** Files that commands write and read as streams of bytes: whole or not at all, and readable by their owner only. */

import { createReadStream } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { syncDirectory } from "../../runtime/files/durable.ts";
import { UsageError } from "../output/failure.ts";
import { isAlive } from "./processes.ts";

/** The name of standard input and output. */
export const STANDARD = "-";

export interface WriteOptions {
  /** Replace a file that is there. */
  readonly force: boolean;
  /** Called with the bytes written so far. */
  readonly onBytes?: (total: number) => void;
  /** Before the file gets its name: where it rejects there is none. Its argument is the path meanwhile. */
  readonly check?: (path: string) => Promise<void>;
}

/**
 * Writes beside the place and moves the file there once all of it is on disk. UsageError when there is a file already.
 * Resolves with the number of bytes.
 */
export async function writeWhole(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<number> {
  await refuseWrite(path, options.force);
  const temporary = join(dirname(resolve(path)), `.${basename(path)}.${process.pid}.partial`);
  // Under this process's own number it is of one that was killed, as in a container, where numbers come again at once.
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    const total = await pour(file, bytes, options.onBytes);
    await options.check?.(temporary);
    if (options.force) await rename(temporary, path);
    else await linkNew(temporary, path);
    return total;
  } finally {
    await rm(temporary, { force: true });
    await syncDirectory(dirname(resolve(path)));
  }
}

/** Removes what commands that were killed had begun to write beside the path, under its name or another one that `isOurs`. */
export async function removeUnfinished(path: string, isOurs: (name: string) => boolean): Promise<void> {
  const folder = dirname(resolve(path));
  for (const found of await readdir(folder)) {
    const [, name = "", pid] = /^\.(.+)\.(\d+)\.partial$/.exec(found) ?? [];
    if (pid === undefined || !(name === basename(path) || isOurs(name))) continue;
    // Under this process's own number it is another one's, as in a container, where numbers come again at once.
    if (Number(pid) !== process.pid && isAlive(Number(pid))) continue;
    await rm(join(folder, found), { force: true }).catch(() => undefined);
  }
}

/** Before any work is done for it: UsageError when the file cannot be written there. */
export async function refuseWrite(path: string, force: boolean): Promise<void> {
  if (!force && (await stat(path).catch(() => null)) !== null) throw alreadyThere(path);
  const folder = await stat(dirname(resolve(path))).catch(() => null);
  if (!folder?.isDirectory()) throw new UsageError(`There is no directory ${dirname(resolve(path))}.`);
}

/** The bytes of a file, or of standard input for `-`. UsageError when there is no such file. */
export async function openBytes(path: string): Promise<AsyncIterable<Uint8Array>> {
  if (path === STANDARD) {
    if (process.stdin.isTTY) throw new UsageError("Standard input is a terminal.", "Name a file, or pipe it in.");
    return process.stdin;
  }
  const found = await stat(path).catch(() => null);
  if (!found) throw new UsageError(`There is no file ${path}.`);
  if (found.isDirectory()) throw new UsageError(`${path} is a directory.`);
  return createReadStream(path);
}

/** Tells how far the reading is. */
export async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: (total: number) => void,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.byteLength;
    onBytes(total);
    yield chunk;
  }
}

async function pour(
  file: FileHandle,
  bytes: AsyncIterable<Uint8Array>,
  onBytes?: (total: number) => void,
): Promise<number> {
  let total = 0;
  try {
    for await (const chunk of bytes) {
      await file.writeFile(chunk);
      total += chunk.byteLength;
      onBytes?.(total);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return total;
}

/** Unlike a rename this fails when the file was made in the meantime. */
async function linkNew(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw alreadyThere(path);
    // A file system without hard links.
    await rename(temporary, path);
  }
}

function alreadyThere(path: string): UsageError {
  return new UsageError(`There is a file ${path} already.`, "Name another one, or pass --force to replace it.");
}
