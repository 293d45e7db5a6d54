/** What the files of the repository import of each other, read from their text: enough to know what a change reaches. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ROOT } from "../../scripts/lib/paths.js";

/** `import type` leaves nothing behind; paths of programs that a test starts count like imports. */
const TYPES = /^\s*(?:import|export)\s+type\b[^;]*;/gm;
const PATH = /["'](\.{1,2}\/[^"'\n]+)["']/g;
const PACKAGE = /^\s*(?:import|export)\s+(?:[^;"]*?\sfrom\s+)?"([^."][^"]*)"/gm;

export interface Imports {
  /** Paths from the root of the repository of files that are there. */
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** Reads each file once. */
export function importReader(): (file: string) => Imports {
  const cache = new Map<string, Imports>();
  return (file) => {
    const there = cache.get(file);
    if (there !== undefined) return there;
    const text = /\.(ts|js|mjs|cjs)$/.test(file) ? readFileSync(join(ROOT, file), "utf8").replace(TYPES, "") : "";
    const paths = [...text.matchAll(PATH)].map(([, path = ""]) => resolve(ROOT, dirname(file), path));
    const files = paths.filter((path) => existsSync(path) && statSync(path).isFile());
    const imports = {
      files: files.map((path) => relative(ROOT, path)),
      packages: [...text.matchAll(PACKAGE)].map(([, name = ""]) => name),
    };
    cache.set(file, imports);
    return imports;
  };
}

/** The file and everything that it imports, also through others; `into` says where to look further. */
export function reachOf(
  start: string,
  read: (file: string) => Imports,
  into: (file: string) => boolean = () => true,
): ReadonlySet<string> {
  const seen = new Set([start]);
  for (const file of seen) {
    if (file !== start && !into(file)) continue;
    for (const next of read(file).files) seen.add(next);
  }
  return seen;
}
