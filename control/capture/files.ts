/** Files of other programs: read as they are, replaced whole, their mode and links kept, the former content beside them. */

import { lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { writeDurably } from "../../runtime/files/durable.ts";

/** Null when there is none. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/**
 * Replaces the file, which may be a link into a repository of settings. Returns the path of the copy of what was
 * there; null when there was nothing.
 */
export async function replaceWithBackup(path: string, text: string, stamp: string): Promise<string | null> {
  await mkdir(dirname(path), { recursive: true });
  const linked = await lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
  const real = linked ? await realpath(path) : path;
  const former = await readIfThere(real);
  const mode = former === null ? 0o600 : (await stat(real)).mode & 0o777;
  const backup = `${real}.before-cairn-${stamp}`;
  if (former !== null) await writeDurably(backup, former, { mode });
  await writeDurably(real, text, { mode });
  return former === null ? null : backup;
}
