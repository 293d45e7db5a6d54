/** Whether others than the service's user and root can change the code of a plugin: it would run with the rights of the service. */

import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../contracts/system-errors.ts";

const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;
/** Of directories such as /tmp: others may not replace what is not theirs. */
const STICKY = 0o1000;
/** A folder with more entries, packages included, is no plugin. */
const MAX_ENTRIES = 100_000;

/** What is wrong, as the end of a sentence; null when nothing is. Links are not followed: what they lead to lies in the folder, too, or is refused. */
export async function pluginAccessProblem(folder: string, uid: number): Promise<string | null> {
  try {
    const top = await realpath(folder);
    return (await above(dirname(top))) ?? (await below(top, uid));
  } catch (error) {
    return `its files cannot be read (${codeOf(error) ?? "unknown error"})`;
  }
}

async function above(directory: string): Promise<string | null> {
  for (let path = directory; ; path = dirname(path)) {
    const { mode } = await lstat(path);
    if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0) return `everybody can replace what is in ${path}`;
    if (path === dirname(path)) return null;
  }
}

async function below(top: string, uid: number): Promise<string | null> {
  const open = [top];
  for (let count = 0, path = open.pop(); path !== undefined; count += 1, path = open.pop()) {
    if (count >= MAX_ENTRIES) return `it has more than ${MAX_ENTRIES} files`;
    const entry = await lstat(path);
    if (entry.uid !== uid && entry.uid !== 0) return `${path} belongs to another user`;
    if (entry.isSymbolicLink()) {
      if (!isInside(await realpath(path), top)) return `${path} is a link that leads outside`;
      continue;
    }
    if ((entry.mode & (WRITABLE_BY_GROUP | WRITABLE_BY_ALL)) !== 0) {
      return `others can write to ${path}: chmod -R go-w ${top}`;
    }
    if (entry.isDirectory()) for (const name of await readdir(path)) open.push(join(path, name));
  }
  return null;
}

function isInside(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`);
}
