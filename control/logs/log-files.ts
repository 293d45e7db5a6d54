/** The node's log on disk: the file that is being written and those that were rotated away, and their lines. */

import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

export interface LogFile {
  readonly path: string;
  /** Stays the same when the file is renamed. */
  readonly id: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** `cairn.log`, `cairn.3.log`, `cairn.2030-01-31.1.log`, `cairn.log.1`; links to one of them count once. */
const LOG_NAME = /^cairn(?:\.[\w-]+)*\.log(?:\.\d+)?$/;
const BLOCK = 64 * 1024;
const NEWLINE = 0x0a;
/** Bytes that distinguish a file from others: the time of its first line is among them. */
const HEAD = 512;

/** Oldest first; empty when there is no log yet. */
export async function listLogFiles(directory: string): Promise<LogFile[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const files = new Map<string, LogFile>();
  for (const name of names.filter((candidate) => LOG_NAME.test(candidate))) {
    const path = join(directory, name);
    // Rotation may remove it between the listing and here.
    const stats = await stat(path).catch(() => null);
    if (!stats?.isFile()) continue;
    const id = idOf(stats);
    if (!files.has(id)) files.set(id, { path, id, size: stats.size, modifiedMs: stats.mtimeMs });
  }
  return [...files.values()].sort(
    (a, b) => a.modifiedMs - b.modifiedMs || a.path.localeCompare(b.path, "en", { numeric: true }),
  );
}

/**
 * Lines of bytes `from` to `to` in their order, without their newlines. The generator's return value is the offset behind
 * the last whole line; the unfinished one at the end is left out unless `unfinished` asks for it. Nothing is read when the
 * path leads to another file than that of the id by now.
 */
export async function* linesForward(
  path: string,
  { from = 0, to, unfinished = false, id }: { from?: number; to?: number; unfinished?: boolean; id?: string } = {},
): AsyncGenerator<string, number> {
  const handle = await openIfThere(path, id);
  if (handle === null) return from;
  try {
    const end = to ?? (await handle.stat()).size;
    let rest = Buffer.alloc(0);
    let at = from;
    while (at < end) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(BLOCK, end - at)), 0, undefined, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const block = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let start = 0;
      for (let cut = block.indexOf(NEWLINE); cut >= 0; cut = block.indexOf(NEWLINE, start)) {
        yield block.toString("utf8", start, cut);
        start = cut + 1;
      }
      rest = block.subarray(start);
    }
    if (unfinished && rest.length > 0) {
      yield rest.toString("utf8");
      return at;
    }
    return at - rest.length;
  } finally {
    await handle.close();
  }
}

/** Lines before byte `to`, the last one first: the newest lines of a large file cost as much as those of a small one. */
export async function* linesBackward(path: string, to: number): AsyncGenerator<string> {
  const handle = await openIfThere(path);
  if (handle === null) return;
  try {
    let rest = Buffer.alloc(0);
    let at = to;
    let atEnd = true;
    while (at > 0) {
      const length = Math.min(BLOCK, at);
      at -= length;
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
      const block = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
      let end = block.length;
      for (let cut = block.lastIndexOf(NEWLINE); cut >= 0; cut = cut === 0 ? -1 : block.lastIndexOf(NEWLINE, cut - 1)) {
        // What follows the file's last newline is no line of its own unless there is something.
        if (!atEnd || end > cut + 1) yield block.toString("utf8", cut + 1, end);
        atEnd = false;
        end = cut;
      }
      rest = block.subarray(0, end);
    }
    if (to > 0) yield rest.toString("utf8");
  } finally {
    await handle.close();
  }
}

/** The first bytes of a file, one character each; empty where it is gone or is another file by now. */
export async function headOf({ path, id }: LogFile): Promise<string> {
  const handle = await openIfThere(path, id);
  if (handle === null) return "";
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function openIfThere(path: string, id?: string): Promise<FileHandle | null> {
  const handle = await open(path, "r").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (handle === null || id === undefined || idOf(await handle.stat()) === id) return handle;
  await handle.close();
  return null;
}

function idOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}
