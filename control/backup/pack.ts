/** The bytes of a backup before they are sealed: a tar archive of the manifest, the memories, the files and what was packed. */

import { createReadStream } from "node:fs";
import type { Source } from "./contents.ts";
import { type LeftOut, MANIFEST, type Manifest, SUMMARY } from "./manifest.ts";
import { Tally } from "./tally.ts";
import { ARCHIVE_END, type Entry, entryHead, entryTail } from "./tar.ts";
import { walk } from "./walk.ts";

/** A whole file that was made for the backup. */
export interface StagedFile {
  /** Name of its entry. */
  readonly entry: string;
  readonly path: string;
  readonly bytes: number;
}

export interface PackInput {
  readonly manifest: Manifest;
  readonly staged: readonly StagedFile[];
  readonly sources: readonly Source[];
  /** Absolute paths that are passed over. */
  readonly passed: ReadonlySet<string>;
  /** What was left out already; what more is goes to its end. */
  readonly leftOut: LeftOut[];
  readonly signal: AbortSignal;
}

/** In constant memory. Errors of the file system, and of `walk`. */
export async function* pack(input: PackInput): AsyncGenerator<Uint8Array> {
  const { manifest, staged, sources, leftOut } = input;
  const tally = new Tally();
  yield* text(MANIFEST, manifest);
  for (const { entry: name, path, bytes } of staged) {
    yield* entry(tally, fileEntry(name, bytes), createReadStream(path));
  }
  const leaveOut = (path: string, reason: string): void => void leftOut.push({ path, reason });
  for (const source of sources) {
    for await (const found of walk(source, { ...input, leaveOut })) yield* entry(tally, found.entry, found.content);
  }
  yield* text(SUMMARY, { parts: tally.parts(), left_out: leftOut });
  yield ARCHIVE_END;
}

async function* entry(
  tally: Tally,
  what: Entry,
  content: AsyncIterable<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  tally.begin(what);
  yield entryHead(what);
  if (content === null) return;
  for await (const chunk of content) {
    tally.content(what.name, chunk);
    yield chunk;
  }
  yield entryTail(what.size);
}

function* text(name: string, value: object): Generator<Uint8Array> {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  yield entryHead(fileEntry(name, bytes.length));
  yield bytes;
  yield entryTail(bytes.length);
}

function fileEntry(name: string, size: number): Entry {
  return { name, type: "file", mode: 0o600, modified: new Date(), size, target: null };
}
