/**
 * The hash chain over the audit log. A line ends with `hash`: SHA-256 over the bytes since the line before it that has one, up to this
 * field, and over that line's hash. The first of a file also has `prev`, the hash that it goes on from.
 */

import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { codeOf } from "../contracts/system-errors.ts";

export interface AuditFileName {
  readonly name: string;
  readonly path: string;
}

export interface RawLine {
  /** Without its newline. */
  readonly bytes: Buffer;
  /** False for what follows the last newline, and for a part of a line that is too long to be one. */
  readonly whole: boolean;
}

export interface ChainedLine {
  /** In hexadecimal, as `hash`. */
  readonly prev: string | null;
  readonly hash: string;
  /** What the hash covers of the line. */
  readonly covered: Uint8Array;
}

export interface EndOfChain {
  readonly hash: string | null;
  readonly link: Link;
  readonly isCut: boolean;
  /** Bytes that were read. */
  readonly size: number;
}

/** Before the first line of all. */
export const NO_HASH = "0".repeat(64);
const ENDING = /(?:,"prev":"([0-9a-f]{64})")?,"hash":"([0-9a-f]{64})"\}$/;
/** Bytes that the longest ending has, and those of `,"hash":"..."}`. */
const MOST_ENDING = 160;
const HASH_FIELD = 75;
const MOST_LINE = 16 * 1024 * 1024;
const DAY_FILE = /^\d{4}-\d{2}-\d{2}\.jsonl(?:\.gz)?$/;
const NEWLINE = 0x0a;

/** The bytes since the last line that has a hash. */
export class Link {
  readonly #bytes: Hash;

  constructor(bytes = createHash("sha256")) {
    this.#bytes = bytes;
  }

  copy(): Link {
    return new Link(this.#bytes.copy());
  }

  add(bytes: Uint8Array | string): void {
    this.#bytes.update(bytes);
  }

  /** The hash of the line whose beginning was added last. Ends this link. */
  hash(prev: string): string {
    return this.#bytes.update(prev).digest("hex");
  }
}

/** Null where the line has no hash, as those of older versions and those that a crash cut off. */
export function parseChained({ bytes, whole }: RawLine): ChainedLine | null {
  if (!whole) return null;
  const [, prev = null, hash] = ENDING.exec(bytes.toString("latin1", Math.max(0, bytes.length - MOST_ENDING))) ?? [];
  return hash === undefined ? null : { prev, hash, covered: bytes.subarray(0, bytes.length - HASH_FIELD) };
}

/** Oldest day first; regular files alone. A directory that is not there is an empty one. */
export async function listAuditFiles(directory: string): Promise<readonly AuditFileName[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const names = new Set(entries.filter((entry) => entry.isFile() && DAY_FILE.test(entry.name)).map(({ name }) => name));
  // A crash while a day was compressed leaves it twice.
  return [...names]
    .filter((name) => !(name.endsWith(".gz") && names.has(name.slice(0, -3))))
    .sort()
    .map((name) => ({ name, path: join(directory, name) }));
}

/** `start`: in bytes, of a file that is not compressed. */
export async function* readAuditLines(path: string, start = 0): AsyncGenerator<RawLine, void, undefined> {
  const file = createReadStream(path, { start });
  const unzip = path.endsWith(".gz") ? file.pipe(createGunzip()) : undefined;
  // `pipe` passes no errors on.
  if (unzip) file.on("error", (error) => unzip.destroy(error));
  try {
    let rest: Buffer[] = [];
    let length = 0;
    for await (const chunk of unzip ?? file) {
      const block: Buffer = chunk;
      let from = 0;
      for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, from)) {
        yield { bytes: Buffer.concat([...rest, block.subarray(from, at)]), whole: true };
        rest = [];
        length = 0;
        from = at + 1;
      }
      if (from < block.length) rest.push(block.subarray(from));
      length += block.length - from;
      if (length > MOST_LINE) {
        yield { bytes: Buffer.concat(rest), whole: false };
        rest = [];
        length = 0;
      }
    }
    if (length > 0) yield { bytes: Buffer.concat(rest), whole: false };
  } finally {
    file.destroy();
    unzip?.destroy();
  }
}

/** How a file of the chain ends: the hash of its last line that has one, what follows it, and whether that is a part of a line. `from`: how it ended before. */
export async function endOfChain(path: string, from?: EndOfChain): Promise<EndOfChain> {
  let { hash = null, isCut = false, size = 0 } = from ?? {};
  let link = from?.link.copy() ?? new Link();
  for await (const line of readAuditLines(path, size)) {
    isCut = !line.whole;
    size += line.bytes.length + (line.whole ? 1 : 0);
    const chained = parseChained(line);
    if (chained === null) addUnchained(link, line);
    else {
      hash = chained.hash;
      link = new Link();
    }
  }
  return { hash, link, isCut, size };
}

export function addUnchained(link: Link, { bytes, whole }: RawLine): void {
  link.add(bytes);
  if (whole) link.add("\n");
}
