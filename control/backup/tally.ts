/** Counts and hashes of each part of a backup, made by the writer and compared by the reader. */

import { createHash, type Hash } from "node:crypto";
import type { Part } from "./manifest.ts";
import type { Entry } from "./tar.ts";

interface Open {
  readonly hash: Hash;
  files: number;
  bytes: number;
}

export class Tally {
  readonly #parts = new Map<string, Open>();

  /** Before the content of an entry. */
  begin({ name, type, mode, size, target }: Entry): void {
    const part = this.#partOf(name);
    part.hash.update(`${JSON.stringify([name, type, mode, size, target])}\n`);
    if (type === "file") part.files += 1;
  }

  content(name: string, chunk: Uint8Array): void {
    const part = this.#partOf(name);
    part.hash.update(chunk);
    part.bytes += chunk.byteLength;
  }

  /** Once, at the end. */
  parts(): Part[] {
    return [...this.#parts].map(([name, { files, bytes, hash }]) => ({
      name,
      files,
      bytes,
      sha256: hash.digest("hex"),
    }));
  }

  #partOf(entry: string): Open {
    const name = partName(entry);
    const found = this.#parts.get(name) ?? { hash: createHash("sha256"), files: 0, bytes: 0 };
    this.#parts.set(name, found);
    return found;
  }
}

/** `directory` of `directory/workspace/SOUL.md`. */
export function partName(entry: string): string {
  return entry.split("/", 1)[0] ?? entry;
}
