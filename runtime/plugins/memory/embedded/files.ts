import { fork } from "node:child_process";
import { once } from "node:events";
import type { Dirent } from "node:fs";
import { chmod, mkdtemp, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { MemoryError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { storeFull } from "../wire/errors.ts";

/** The directory of the database's files: made whole or not at all, and never mistaken for a new one. */

/** Major version of the PostgreSQL that PGlite is built from: it reads no other's files. */
const MAJOR = "18";
const COMPLETE = "data";
const UNFINISHED = "data.unfinished-";
const CREATE_TIMEOUT_MS = 120_000;
const AT_ONCE = 8;
const OTHERS = 0o077;

/**
 * The directory with the database's files. When there is none, a new one is filled, which gets its name only when
 * everything in it has reached the disk: a first start that is cut short is simply done again.
 */
export async function databaseFiles(store: string): Promise<string> {
  const directory = join(store, COMPLETE);
  const version = await readFile(join(directory, "PG_VERSION"), "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (version !== undefined) {
    if (version.trim() === MAJOR) {
      await closeToOthers(directory);
      return directory;
    }
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
  for (const name of await readdir(store)) {
    if (name.startsWith(UNFINISHED)) await rm(join(store, name), { recursive: true, force: true });
  }
  // A name of its own each time: a process that was cut short may have left one behind that still writes.
  const unfinished = await mkdtemp(join(store, UNFINISHED));
  await create(unfinished);
  await closeToOthers(unfinished);
  await syncTree(unfinished);
  await chmod(unfinished, 0o700);
  await rename(unfinished, directory);
  await sync(store);
  return directory;
}

/** The engine makes files of mode 0666, and so they were left by earlier versions: a copy of them would be open to all. */
async function closeToOthers(directory: string): Promise<void> {
  if (((await stat(join(directory, "PG_VERSION"))).mode & OTHERS) === 0) return;
  const { files, directories } = await entriesOf(directory);
  await eachOf(directories, (path) => chmod(path, 0o700));
  // Last, since it is the one that is checked: an interrupted start does all of it again.
  await eachOf(
    files.filter((path) => path !== join(directory, "PG_VERSION")),
    (path) => chmod(path, 0o600),
  );
  await chmod(join(directory, "PG_VERSION"), 0o600);
}

async function create(directory: string): Promise<void> {
  const program = fileURLToPath(new URL(`./create${extname(import.meta.url)}`, import.meta.url));
  const child = fork(program, [directory], { stdio: ["ignore", "ignore", "pipe", "ipc"], timeout: CREATE_TIMEOUT_MS });
  const said = child.stderr ? text(child.stderr) : Promise.resolve("");
  const [code, signal] = await once(child, "close");
  if (code === 0) return;
  const details = { cause: new Error(await said) };
  if ((await said).includes("No space left on device")) throw storeFull(details.cause);
  const end = signal === null ? `exit code ${code}` : String(signal);
  throw new MemoryError("MEMORY_UNAVAILABLE", `The new store ${directory} could not be made (${end}).`, details);
}

async function exists(path: string): Promise<boolean> {
  return readdir(path).then(
    () => true,
    () => false,
  );
}

async function syncTree(directory: string): Promise<void> {
  const { files, directories } = await entriesOf(directory);
  await eachOf([...files, ...directories], sync);
  await sync(directory);
}

/** Everything below the directory, but for what is neither a file nor a directory. */
async function entriesOf(directory: string): Promise<{ readonly files: string[]; readonly directories: string[] }> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const paths = (wanted: (entry: Dirent) => boolean) =>
    entries.filter(wanted).map((entry) => join(entry.parentPath, entry.name));
  return { files: paths((entry) => entry.isFile()), directories: paths((entry) => entry.isDirectory()) };
}

async function eachOf(paths: readonly string[], work: (path: string) => Promise<void>): Promise<void> {
  const rest = [...paths];
  const workOnRest = async (): Promise<void> => {
    for (let path = rest.pop(); path !== undefined; path = rest.pop()) await work(path);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workOnRest));
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
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "");
}
