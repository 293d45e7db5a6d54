/** Small helpers around the file system. */

import { lstat, open } from "node:fs/promises";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

/** True also for a link that leads nowhere: the name is taken. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Makes renames in a directory durable; file systems that cannot do it are left alone. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (codeOf(error) !== "EINVAL" && codeOf(error) !== "ENOTSUP") throw error;
  } finally {
    await handle.close();
  }
}
