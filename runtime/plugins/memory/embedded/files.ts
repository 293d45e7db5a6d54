import { chmod, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError } from "../../../contracts/errors.ts";

/** The directory of the database's files: made whole or not at all, and never mistaken for a new one. */

/** Major version of the PostgreSQL that PGlite is built from: it reads no other's files. */
const MAJOR = "18";
const COMPLETE = "data";
const UNFINISHED = "data.unfinished";

/**
 * The directory with the database's files. When there is none, `create` fills a new one, which gets its name only
 * when everything in it has reached the disk: a first start that is cut short is simply done again.
 */
export async function databaseFiles(store: string, create: (directory: string) => Promise<void>): Promise<string> {
  const directory = join(store, COMPLETE);
  const version = await readFile(join(directory, "PG_VERSION"), "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (version !== undefined) {
    if (version.trim() === MAJOR) return directory;
    throw new MemoryError(
      "MEMORY_SCHEMA_MISMATCH",
      `The store was written by PostgreSQL ${version.trim()}, and this version of Cairn reads ${MAJOR}.`,
      { hint: "Make a backup with the version of Cairn that wrote it, and restore that into a new store." },
    );
  }
  if (await exists(directory)) {
    throw new MemoryError("MEMORY_SCHEMA_MISMATCH", `The directory ${directory} is no complete database.`, {
      hint: "Restore it from a backup, or move it away to start with an empty store.",
    });
  }
  const unfinished = join(store, UNFINISHED);
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await create(unfinished);
  await syncTree(unfinished);
  await chmod(unfinished, 0o700);
  await rename(unfinished, directory);
  await sync(store);
  return directory;
}

async function exists(path: string): Promise<boolean> {
  return readdir(path).then(
    () => true,
    () => false,
  );
}

async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() || entry.isDirectory()) await sync(join(entry.parentPath, entry.name));
  }
  await sync(directory);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
