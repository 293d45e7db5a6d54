/** Writes the entries of a backup below directories of its own: never through a link, never over what is there. */

import { constants } from "node:fs";
import { mkdir, open, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { type OpenDirectory, openBelow, openRoot } from "../../../runtime/files/directory.ts";
import { syncDirectory } from "../../../runtime/files/durable.ts";
import { DIRECTORY, HOME, invalid } from "../manifest.ts";
import type { Take } from "../read.ts";
import { partName } from "../tally.ts";

export interface ExtractPlaces {
  readonly directory: string;
  readonly home: string;
  /** Where the archive with this name goes, and those of nodes. */
  archive(name: string): string;
}

export interface Extraction {
  readonly take: Take;
  /** Links and the modes of directories come last: nothing is written through either. */
  finish(): Promise<void>;
  /** Paths of archives that were kept as files. */
  readonly archives: ReadonlyMap<string, string>;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const PERMISSIONS = 0o777;

export function createExtraction(places: ExtractPlaces): Extraction {
  const later: (() => Promise<void>)[] = [];
  const archives = new Map<string, string>();
  const rootOf = (part: string): string | null =>
    part === DIRECTORY ? places.directory : part === HOME ? places.home : null;

  const take: Take = async ({ name, type, mode, modified, components, target }, content) => {
    const root = rootOf(partName(name));
    if (root === null) {
      if (type !== "file") return;
      const path = places.archive(name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeNew(path, content, { mode: 0o600, modified });
      archives.set(name, path);
      return;
    }
    const below = components.slice(1);
    await using start = await openRoot(root);
    if (type === "directory") {
      const made = await openBelow(start, below, true).catch(refuseTwice);
      await made.handle.close();
      later.push(() => withFolder(root, below, (folder) => folder.handle.chmod(mode & PERMISSIONS)));
    } else if (type === "link") {
      later.push(() =>
        inFolder(root, below, (folder, last) => symlink(target ?? "", folder.at(last)).catch(refuseTwice)),
      );
    } else {
      await inOpened(start, below, true, (folder, last) => writeNew(folder.at(last), content, { mode, modified }));
    }
  };

  return {
    take,
    archives,
    async finish() {
      // Innermost first: a directory may be closed even to its owner.
      for (const step of later.reverse()) await step();
      for (const root of [places.directory, places.home]) await syncDirectory(root);
    },
  };
}

type InFolder = (folder: OpenDirectory, last: string) => Promise<unknown>;

async function inFolder(root: string, below: readonly string[], work: InFolder): Promise<void> {
  await using start = await openRoot(root);
  await inOpened(start, below, true, work);
}

async function withFolder(root: string, below: readonly string[], work: (folder: OpenDirectory) => Promise<unknown>) {
  await using start = await openRoot(root);
  await using folder = await openBelow(start, below);
  await work(folder);
}

async function inOpened(
  start: OpenDirectory,
  below: readonly string[],
  create: boolean,
  work: InFolder,
): Promise<void> {
  const last = below.at(-1) ?? "";
  if (below.length === 1) {
    await work(start, last);
    return;
  }
  await using folder = await openBelow(start, below.slice(0, -1), create).catch(refuseTwice);
  await work(folder, last);
}

/** On disk when it resolves. */
async function writeNew(
  path: string,
  content: AsyncIterable<Uint8Array>,
  { mode, modified }: { readonly mode: number; readonly modified: Date },
): Promise<void> {
  const file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600).catch(refuseTwice);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.chmod(mode & PERMISSIONS);
    await file.utimes(modified, modified);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name that is there already, or that something else than a directory has. */
function refuseTwice(error: unknown): never {
  const code = codeOf(error);
  if (code === "EEXIST" || code === "ENOTDIR" || code === "ELOOP") throw invalid("it has one name twice", error);
  throw error;
}
