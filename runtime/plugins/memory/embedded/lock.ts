import { type FileHandle, mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { MemoryError } from "../../../contracts/errors.ts";

/**
 * One process at a time: two that open the same files lose each other's rows without an error. The lock is the
 * operating system's, so that it ends with the process however that ends; the file's text only names the holder.
 */
export interface StoreLock {
  release(): Promise<void>;
}

const FILE = "lock";

/** Takes the lock of a store's directory (made when missing), or MEMORY_STORE_LOCKED, naming its holder. */
export async function lockStore(directory: string, since: Date): Promise<StoreLock> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, FILE);
  const file = await open(path, "a+", 0o600);
  if (!tryLock(file.fd)) {
    await file.close();
    throw new MemoryError("MEMORY_STORE_LOCKED", `The store ${directory} is in use by ${await holderOf(path)}.`, {
      hint: "Stop that process, or talk to it instead of opening its store.",
    });
  }
  await write(file, { pid: process.pid, since: since.toISOString() });
  return {
    release: async () => {
      await file.truncate(0);
      await file.close();
    },
  };
}

async function write(file: FileHandle, holder: object): Promise<void> {
  await file.truncate(0);
  await file.write(`${JSON.stringify(holder)}\n`, 0);
}

async function holderOf(path: string): Promise<string> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof holder === "object" && holder !== null && "pid" in holder && "since" in holder) {
      return `process ${String(holder.pid)} (since ${String(holder.since)})`;
    }
  } catch {
    // The holder has locked the file and not yet written its name.
  }
  return "another process";
}
