/**
 * Which files a disk pointer may lead to. A pointer is what some capture client said, so it is believed only as far as
 * the node's owner allows: session files of coding assistants under the directories that the configuration names. Links
 * are followed, and what counts is where they end.
 */

import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { isAbsolute, sep } from "node:path";

/** Why a pointer leads nowhere; the message goes to the caller that asked for the row. */
export class UnreadablePointer extends Error {}

const MAX_PATH = 4_096;

export type SessionFileKind = "jsonl" | "sqlite";

const NAMES: { readonly [Kind in SessionFileKind]: RegExp } = {
  jsonl: /^[^.][^/]*\.jsonl$/,
  sqlite: /^[^.][^/]*\.(db|sqlite)$/,
};

/** The file's real path. Throws UnreadablePointer, without telling what is there and what is not beyond the roots. */
export async function resolveSessionFile(
  pointer: unknown,
  kind: SessionFileKind,
  roots: readonly string[],
): Promise<string> {
  if (typeof pointer !== "string" || !isAbsolute(pointer) || pointer.length > MAX_PATH || pointer.includes("\0")) {
    throw new UnreadablePointer("its disk pointer is no absolute path");
  }
  const outside = new UnreadablePointer(
    "its disk pointer leads outside the directories that this node may read, or to nothing (memory.session_roots)",
  );
  const path = await realpath(pointer).catch(() => {
    throw outside;
  });
  const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => null)));
  const inside = allowed.some((root) => root !== null && path.startsWith(root.endsWith(sep) ? root : root + sep));
  if (!inside) throw outside;
  if (!NAMES[kind].test(path.slice(path.lastIndexOf(sep) + 1))) {
    throw new UnreadablePointer("its disk pointer does not lead to a session file");
  }
  return path;
}

/** Opens a regular file that has been resolved; a link or a device put in its place since is refused. */
export async function openRegular(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw new UnreadablePointer("the session file cannot be opened");
  }
  const found = await file.stat();
  if (found.isFile()) return file;
  await file.close();
  throw new UnreadablePointer("its disk pointer does not lead to a regular file");
}
