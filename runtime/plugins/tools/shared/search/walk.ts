/** The files of a search, in the order of their paths: no link is followed, and no other file system object is opened. */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { codeOf } from "../../../../contracts/system-errors.ts";
import {
  type BlockingDirectory,
  listBlocking,
  openBelowBlocking,
  openDirectoryBlocking,
  readBlocking,
} from "../../../../files/blocking.ts";
import { IgnoreRules } from "./ignore-rules.ts";
import type { SearchScope } from "./messages.ts";

/** A file in its open directory. */
export interface WalkedFile {
  readonly directory: BlockingDirectory;
  readonly name: string;
  /** Below the root. */
  readonly components: readonly string[];
}

/** Each level holds a descriptor. */
const MAX_DEPTH = 100;
const IGNORE_FILE = ".gitignore";
const MAX_IGNORE_BYTES = 1024 * 1024;
/** Of files that went or cannot be opened: a search goes on without them. */
const SKIPPED: ReadonlySet<string> = new Set([
  "ENOENT",
  "ENOTDIR",
  "ELOOP",
  "EACCES",
  "EPERM",
  "ENXIO",
  "ENAMETOOLONG",
]);

/** Calls `visit` for each file until it answers false, or `isOver`, which is asked before each entry of a directory, true. */
export function walkFiles(scope: SearchScope, visit: (file: WalkedFile) => boolean, isOver: () => boolean): void {
  const walk = new Walk(scope, visit, isOver);
  using root = openDirectoryBlocking(scope.root);
  walk.enter(root, [], IgnoreRules.none);
}

/** Undefined where what `work` opens cannot be opened, or went meanwhile. */
export function skipUnreadable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (SKIPPED.has(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

class Walk {
  readonly #scope: SearchScope;
  readonly #visit: (file: WalkedFile) => boolean;
  readonly #isOver: () => boolean;
  readonly #matches: (path: string) => boolean;
  readonly #protected: ReadonlySet<string>;
  readonly #only: { readonly files: ReadonlySet<string>; readonly folders: ReadonlySet<string> } | null;
  readonly #buffer = Buffer.allocUnsafe(MAX_IGNORE_BYTES);

  constructor(scope: SearchScope, visit: (file: WalkedFile) => boolean, isOver: () => boolean) {
    const { glob, protectedPaths, only } = scope;
    this.#scope = scope;
    this.#visit = visit;
    this.#isOver = isOver;
    this.#matches =
      glob === undefined ? () => true : picomatch(glob, { dot: true, nonegate: true, basename: !glob.includes("/") });
    this.#protected = new Set(protectedPaths);
    this.#only = only === undefined ? null : { files: new Set(only), folders: new Set(only.flatMap(foldersOf)) };
  }

  /** Goes down to what is searched, with the rules on the way. False: the search is over. */
  enter(directory: BlockingDirectory, components: readonly string[], rules: IgnoreRules): boolean {
    const { components: wanted, isFile } = this.#scope;
    const [name] = wanted.slice(components.length);
    if (name === undefined) return this.#search(directory, components, rules);
    if (isFile && components.length === wanted.length - 1) return this.#visit({ directory, name, components: wanted });
    const next = [...components, name];
    const entries = skipUnreadable(() => listBlocking(directory)) ?? [];
    const here = this.#rulesOf(directory, components, entries, rules);
    // What is named itself is searched, though it is left out otherwise.
    const inside = here.excludes(next.join("/"), true) ? IgnoreRules.none : here;
    const opened = skipUnreadable(() => openBelowBlocking(directory, name));
    if (opened === undefined) return true;
    using below = opened;
    return this.enter(below, next, inside);
  }

  #search(directory: BlockingDirectory, components: readonly string[], rules: IgnoreRules): boolean {
    const entries = skipUnreadable(() => listBlocking(directory)) ?? [];
    const here = this.#rulesOf(directory, components, entries, rules);
    for (const entry of entries) {
      if (this.#isOver()) return false;
      const { name } = entry;
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.isFile()) continue;
      const path = [...components, name].join("/");
      if (this.#isExcluded(directory, name, path, isFolder, here)) continue;
      const goesOn = isFolder
        ? this.#searchBelow(directory, name, components, here)
        : this.#visit({ directory, name, components: [...components, name] });
      if (!goesOn) return false;
    }
    return true;
  }

  #searchBelow(directory: BlockingDirectory, name: string, components: readonly string[], rules: IgnoreRules): boolean {
    if (components.length >= MAX_DEPTH) return true;
    const opened = skipUnreadable(() => openBelowBlocking(directory, name));
    if (opened === undefined) return true;
    using below = opened;
    return this.#search(below, [...components, name], rules);
  }

  #isExcluded(
    directory: BlockingDirectory,
    name: string,
    path: string,
    isFolder: boolean,
    rules: IgnoreRules,
  ): boolean {
    const { all, components } = this.#scope;
    if (name === ".git" || (!all && name.startsWith("."))) return true;
    if (this.#protected.size > 0 && this.#protected.has(join(directory.path, name))) return true;
    if (this.#only !== null && !(isFolder ? this.#only.folders : this.#only.files).has(path)) return true;
    if (!isFolder && !this.#matches(path.split("/").slice(components.length).join("/"))) return true;
    return !all && rules.excludes(path, isFolder);
  }

  #rulesOf(
    directory: BlockingDirectory,
    components: readonly string[],
    entries: readonly Dirent[],
    around: IgnoreRules,
  ): IgnoreRules {
    if (this.#scope.all) return around;
    const own = entries.some(({ name }) => name === ".git") ? IgnoreRules.none : around;
    if (!entries.some((entry) => entry.name === IGNORE_FILE && entry.isFile())) return own;
    const content = skipUnreadable(() => readBlocking(directory, IGNORE_FILE, this.#buffer));
    if (content === undefined || content === null || content === "large") return own;
    return own.with(components, content.bytes.toString("utf8"));
  }
}

function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
