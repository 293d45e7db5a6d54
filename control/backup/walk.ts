/**
 * Reads the files of a deployment for its backup. Below a directory nothing is followed: agents write to workspaces. A link that stays
 * inside is kept as a link; what cannot be kept is named.
 */

import { type FileHandle, open, readlink } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import {
  listEntries,
  type OpenDirectory,
  openBelow,
  openRegularFile,
  openRoot,
} from "../../runtime/files/directory.ts";
import { assertOneName } from "../../runtime/files/read-file.ts";
import { refusalOf } from "../../runtime/files/refusal.ts";
import type { Source } from "./contents.ts";
import { isPlain, staysInside } from "./names.ts";
import type { Entry } from "./tar.ts";

export interface FoundItem {
  readonly entry: Entry;
  /** Of a file; exactly as many bytes as the entry says. RUNTIME_CONFLICT where it became shorter meanwhile. */
  readonly content: AsyncIterable<Uint8Array> | null;
}

export interface Walk {
  /** Absolute paths that are passed over. */
  readonly passed: ReadonlySet<string>;
  /** Called for what is not kept. */
  readonly leaveOut: (path: string, reason: string) => void;
  readonly signal: AbortSignal;
}

const CHUNK = 256 * 1024;
const MODE_BITS = 0o7777;

/** Directories before what is in them. The operator's own path may lead through links; nothing below it may. */
export async function* walk({ part, path, absolute }: Source, options: Walk): AsyncGenerator<FoundItem> {
  const components = path === "" ? [] : path.split("/");
  const handle = await open(absolute, "r");
  let isDirectory: boolean;
  try {
    const stats = await handle.stat();
    isDirectory = stats.isDirectory();
    if (!isDirectory) {
      if (!stats.isFile()) return options.leaveOut(absolute, "it is no regular file");
      yield fileItem([part, ...components], handle, stats, absolute);
      return;
    }
    if (path !== "") yield directoryItem([part, ...components], stats);
  } finally {
    await handle.close().catch(() => undefined);
  }
  await using root = await openRoot(absolute);
  yield* inside({ directory: root, path: absolute, components, part }, options);
}

interface OpenFolder {
  readonly directory: OpenDirectory;
  /** As it is called in messages. */
  readonly path: string;
  readonly part: string;
  /** Below the part. */
  readonly components: readonly string[];
}

async function* inside(place: OpenFolder, options: Walk): AsyncGenerator<FoundItem> {
  const { directory, part } = place;
  for (const found of await listEntries(directory)) {
    options.signal.throwIfAborted();
    const path = join(place.path, found.name);
    const components = [...place.components, found.name];
    if (options.passed.has(path)) continue;
    const leaveOut = (reason: string): void => options.leaveOut(path, reason);
    const missed = (error: unknown): null => unreadable(error, found.name, leaveOut);
    if (!isPlain(found.name)) leaveOut("its name has control characters");
    else if (found.isSymbolicLink()) {
      const target = await readlink(directory.at(found.name)).catch(() => "");
      if (staysInside(components, target)) yield linkItem([part, ...components], target);
      else leaveOut("it is a link that leads elsewhere");
    } else if (found.isDirectory()) {
      await using folder = await openBelow(directory, [found.name]).catch(missed);
      if (folder === null) continue;
      yield directoryItem([part, ...components], await folder.handle.stat());
      yield* inside({ directory: folder, path, components, part }, options);
    } else {
      const handle = await openRegularFile(directory, found.name).catch(missed);
      if (handle === null) continue;
      try {
        const stats = await handle.stat();
        assertOneName(stats);
        yield fileItem([part, ...components], handle, stats, path);
      } catch (error) {
        missed(error);
      } finally {
        await handle.close().catch(() => undefined);
      }
    }
  }
}

/** Stands in a name for each byte that is no UTF-8: under such a name there is nothing. */
const REPLACEMENT = "\uFFFD";

/** What was removed meanwhile is not missed. Rethrows what is no refusal. */
function unreadable(error: unknown, name: string, leaveOut: (reason: string) => void): null {
  if (error instanceof RuntimeError) throw error;
  if (codeOf(error) !== "ENOENT") leaveOut(refusalOf(error));
  else if (name.includes(REPLACEMENT)) leaveOut("its name is no UTF-8");
  return null;
}

interface Stats {
  readonly mode: number;
  readonly mtime: Date;
  readonly size: number;
}

function fileItem(
  components: readonly string[],
  handle: FileHandle,
  { mode, mtime, size }: Stats,
  path: string,
): FoundItem {
  const name = components.join("/");
  return {
    entry: { name, type: "file", mode: mode & MODE_BITS, modified: mtime, size, target: null },
    content: read(handle, size, path),
  };
}

function directoryItem(components: readonly string[], { mode, mtime }: Stats): FoundItem {
  const name = components.join("/");
  return {
    entry: { name, type: "directory", mode: mode & MODE_BITS, modified: mtime, size: 0, target: null },
    content: null,
  };
}

function linkItem(components: readonly string[], target: string): FoundItem {
  const name = components.join("/");
  return { entry: { name, type: "link", mode: 0o777, modified: new Date(0), size: 0, target }, content: null };
}

/** What is appended meanwhile is not waited for. */
async function* read(handle: FileHandle, size: number, path: string): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) {
      throw new RuntimeError("RUNTIME_CONFLICT", `${path} became shorter while it was read.`, {
        hint: "No backup was written. Run the command again.",
      });
    }
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
