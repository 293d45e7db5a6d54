/** One update at a time: a lock of the operating system, which ends with its process. */

import { type FileHandle, mkdir, open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";

/**
 * `folder` is that of what is changed: `run` of a home, `.cache` of a source tree; `mode` is what it gets where it is not there
 * yet. INFRA_LOCKED, naming the process that updates;
 * RUNTIME_FORBIDDEN where this user may not write there.
 */
export async function withUpdateLock<T>(folder: string, work: () => Promise<T>, mode = 0o700): Promise<T> {
  const path = join(folder, "update.lock");
  const lock = await openLock(folder, path, mode);
  try {
    if (!tryLock(lock.fd)) {
      const holder = (await readFile(path, "utf8").catch(() => "")).trim();
      throw new InfraError("INFRA_LOCKED", `Another update is under way${holder ? ` (process ${holder})` : ""}.`, {
        hint: "Wait until it is done.",
      });
    }
    await truncate(path);
    await writeFile(path, `${process.pid}\n`);
    return await work();
  } finally {
    await lock.close();
  }
}

async function openLock(folder: string, path: string, mode: number): Promise<FileHandle> {
  try {
    await mkdir(folder, { recursive: true, mode });
    return await open(path, "a+", 0o600);
  } catch (cause) {
    throw new RuntimeError("RUNTIME_FORBIDDEN", `${folder} cannot be written (${codeOf(cause) ?? "unknown error"}).`, {
      cause,
      hint: "Update as the user who owns it, or the way it was installed.",
    });
  }
}
