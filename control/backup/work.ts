/**
 * Where a backup keeps what it needs meanwhile: in the home, which is private already, and where the next backup finds and removes what
 * a killed one has left. Locked by the operating system: one backup of a home at a time.
 */

import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { makeOwnHome, makePrivateDirectory } from "../../runtime/config/index.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";

/** RUNTIME_CONFLICT while another backup of this home is made. The directory is gone when it settles. */
export async function withWorkDirectory<T>(
  { dir, home }: Pick<Deployment, "dir" | "home">,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  makeOwnHome(home, dir);
  makePrivateDirectory(join(home, "run"));
  const lock = await open(join(home, "run", "backup.lock"), "a+", 0o600);
  try {
    if (!tryLock(lock.fd)) {
      throw new RuntimeError("RUNTIME_CONFLICT", "Another backup of this deployment is being made.", {
        hint: "Wait for its end.",
      });
    }
    const directory = join(home, "run", "backup");
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    try {
      return await work(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } finally {
    await lock.close();
  }
}
