/** One update at a time: a lock of the operating system, which ends with its process. */

import { mkdir, open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { InfraError } from "../../runtime/contracts/errors.ts";

/** INFRA_LOCKED, naming the process that updates. */
export async function withUpdateLock<T>(home: string, work: () => Promise<T>): Promise<T> {
  const folder = join(home, "run");
  const path = join(folder, "update.lock");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await open(path, "a+", 0o600);
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
