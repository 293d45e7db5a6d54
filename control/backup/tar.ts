/** Entries of a tar archive, written and read as streams. Names are checked by those who use them. */

import { Header, Pax } from "tar";
import { invalid } from "./manifest.ts";

export type EntryType = "file" | "directory" | "link";

export interface Entry {
  /** With `/`, and none at its end. */
  readonly name: string;
  readonly type: EntryType;
  /** Permission bits. */
  readonly mode: number;
  readonly modified: Date;
  /** Bytes; 0 for what is no file. */
  readonly size: number;
  /** Where a link leads. */
  readonly target: string | null;
}

const BLOCK = 512;
const TYPES = { file: "File", directory: "Directory", link: "SymbolicLink" } as const;
const KINDS: Readonly<Record<string, EntryType>> = {
  File: "file",
  OldFile: "file",
  Directory: "directory",
  SymbolicLink: "link",
};

/** What stands before the content. */
export function entryHead({ name, type, mode, modified, size, target }: Entry): Uint8Array {
  const data = {
    path: type === "directory" ? `${name}/` : name,
    type: TYPES[type],
    mode,
    size,
    mtime: modified,
    ...(target === null ? {} : { linkpath: target }),
  };
  const header = new Header(data);
  const needsMore = header.encode();
  const block = header.block ?? Buffer.alloc(0);
  return needsMore ? Buffer.concat([new Pax(data).encode(), block]) : block;
}

/** What stands behind a content of this size. */
export function entryTail(size: number): Uint8Array {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

export const ARCHIVE_END: Uint8Array = Buffer.alloc(2 * BLOCK);

export interface ReadItem {
  readonly entry: Entry;
  /** What is left unread of it when the next item is asked for is skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** Bytes of an extended header: two paths at most. */
const LARGEST_HEADER = 64 * 1024;
const CHUNK = 64 * 1024;

/** MEMORY_ARCHIVE_INVALID for what is no such archive, or not all of it; errors of `bytes` as they are. */
export async function* readEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReadItem> {
  const source = new Source(bytes);
  let extended: Pax | undefined;
  try {
    for (;;) {
      const header = new Header(await source.exactly(BLOCK), 0);
      if (header.nullBlock) return await assertEnded(source);
      if (!header.cksumValid) throw invalid("it is no whole archive");
      if (header.type === "ExtendedHeader") {
        const size = header.size ?? 0;
        if (size > LARGEST_HEADER) throw invalid("a name in it is too long");
        const text = await source.exactly(size + entryTail(size).length);
        extended = Pax.parse(text.toString("utf8", 0, size));
        continue;
      }
      const entry = entryOf(header, extended);
      extended = undefined;
      const content = { unread: entry.size };
      yield { entry, content: contentOf(source, content) };
      for await (const _ of contentOf(source, content));
      await source.exactly(entryTail(entry.size).length);
    }
  } finally {
    await source.close();
  }
}

async function* contentOf(source: Source, content: { unread: number }): AsyncGenerator<Uint8Array> {
  while (content.unread > 0) {
    const chunk = await source.some(content.unread);
    if (chunk === null) throw invalid("it ends inside a file");
    content.unread -= chunk.length;
    yield chunk;
  }
}

/** Zeros alone may follow. */
async function assertEnded(source: Source): Promise<void> {
  for (let chunk = await source.some(CHUNK); chunk !== null; chunk = await source.some(CHUNK)) {
    if (chunk.some((byte) => byte !== 0)) throw invalid("something follows its end");
  }
}

function entryOf(header: Header, extended: Pax | undefined): Entry {
  const kind = KINDS[header.type];
  if (kind === undefined) throw invalid("it holds something that is no file, directory or link");
  const name = extended?.path ?? header.path ?? "";
  return {
    name: kind === "directory" ? name.replace(/\/$/, "") : name,
    type: kind,
    mode: (header.mode ?? 0) & 0o7777,
    modified: header.mtime ?? new Date(0),
    size: kind === "file" ? (extended?.size ?? header.size ?? 0) : 0,
    target: kind === "link" ? (extended?.linkpath ?? header.linkpath ?? "") : null,
  };
}

/** Bytes as they are asked for. */
class Source {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  /** At least one, and at most so many; null at the end. */
  async some(most: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return null;
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const taken = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(taken.length);
    return taken;
  }

  async exactly(count: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let missing = count; missing > 0; ) {
      const piece = await this.some(missing);
      if (piece === null) throw invalid("it ends too early");
      pieces.push(piece);
      missing -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
