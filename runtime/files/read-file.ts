/** Reads a file below a directory that other users may write to: a regular one, within a bound, whatever its name leads to. */

import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { codeOf } from "../contracts/system-errors.ts";
import { type OpenDirectory, openBelow, openRegularFile, openRoot } from "./directory.ts";
import { FileRefused } from "./refusal.ts";

export interface ReadLimits {
  /** Never more is read, however large the file is or grows. */
  readonly maxBytes: number;
  /** A larger file is refused, unless its beginning will do. Default: `refuse`. */
  readonly larger?: "refuse" | "cut";
  /**
   * A file with a second name may be one from elsewhere that was linked into the directory: what the service reads by
   * itself refuses it. Default: `refuse`.
   */
  readonly hardLinks?: "refuse" | "allow";
  readonly signal?: AbortSignal | undefined;
}

export interface FileContent {
  readonly bytes: Buffer;
  /** Of the file that was read, not of what has its name by now. */
  readonly stats: Stats;
  /** Whether there is more than `maxBytes`. */
  readonly cut: boolean;
}

/** The content under a name of the directory. FileRefused, or the file system's own error (ENOENT when nothing is there). */
export async function readFileIn(directory: OpenDirectory, name: string, limits: ReadLimits): Promise<FileContent> {
  const { maxBytes, larger = "refuse", hardLinks = "refuse", signal } = limits;
  const handle = await openRegularFile(directory, name);
  try {
    const stats = await handle.stat();
    if (hardLinks === "refuse") assertOneName(stats);
    const cut = stats.size > maxBytes;
    if (cut && larger === "refuse") {
      throw new FileRefused("too_large", `it has ${stats.size} bytes, at most ${maxBytes} can be opened`);
    }
    return { bytes: await readBytes(handle, Math.min(stats.size, maxBytes), signal), stats, cut };
  } finally {
    await handle.close();
  }
}

/** As `readFileIn`, of the file `components` below a directory that the operator names. */
export async function readBelow(root: string, components: readonly string[], limits: ReadLimits): Promise<FileContent> {
  await using start = await openRoot(root);
  const folders = components.slice(0, -1);
  const name = components.at(-1) ?? ".";
  if (folders.length === 0) return await readFileIn(start, name, limits);
  await using folder = await openBelow(start, folders);
  return await readFileIn(folder, name, limits);
}

/** As `readFileIn`, as UTF-8; null when nothing is there. FileRefused also for bytes that are no text. */
export async function readTextIn(directory: OpenDirectory, name: string, limits: ReadLimits): Promise<string | null> {
  const content = await readFileIn(directory, name, limits).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  return content === null ? null : textOf(content);
}

/** UTF-8, without the character that a cut went through. FileRefused for a NUL byte, which no text has. */
export function textOf({ bytes, cut }: Pick<FileContent, "bytes" | "cut">): string {
  if (bytes.includes(0)) throw new FileRefused("not_text");
  return cut ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true }) : bytes.toString("utf8");
}

export function assertOneName({ nlink }: Pick<Stats, "nlink">): void {
  if (nlink > 1) throw new FileRefused("hard_link");
}

/** The same file with the same content. The change time cannot be set by a program, and it covers a new name for the same file. */
export function isUnchanged(before: Stats, now: Stats): boolean {
  return (
    before.ino === now.ino &&
    before.dev === now.dev &&
    before.size === now.size &&
    before.mtimeMs === now.mtimeMs &&
    before.ctimeMs === now.ctimeMs
  );
}

/** Up to `length` bytes: what is appended meanwhile is not waited for. */
async function readBytes(handle: FileHandle, length: number, signal: AbortSignal | undefined): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
