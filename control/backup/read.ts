/** Opens a backup and reads it to its end: every name, length and hash is compared, whatever is done with the content. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { verifyPackedArchive } from "../../runtime/files/memory-archive.ts";
import { UsageError } from "../output/failure.ts";
import { counted, openBytes, STANDARD } from "../service/byte-files.ts";
import {
  DIRECTORY,
  HOME,
  invalid,
  MANIFEST,
  type Manifest,
  MEMORY,
  NODES,
  parseManifest,
  parseSummary,
  SUMMARY,
  type Summary,
} from "./manifest.ts";
import { componentsOf, staysInside } from "./names.ts";
import { unseal } from "./seal.ts";
import { Tally } from "./tally.ts";
import { type Entry, type ReadItem, readEntries } from "./tar.ts";

/** An entry whose name, kind and link were found to stay inside its part. */
export interface CheckedEntry extends Entry {
  readonly components: readonly string[];
  /** Of a memory's archive. */
  readonly isMemory: boolean;
}

/** What is done with an entry. May leave content unread. */
export type Take = (entry: CheckedEntry, content: AsyncIterable<Uint8Array>) => Promise<void>;

export interface OpenBackup {
  readonly manifest: Manifest;
  /** Once. MEMORY_ARCHIVE_INVALID where anything differs from what the backup says of itself; errors of `take`. */
  read(take: Take): Promise<Summary>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly passphrase: string;
  readonly signal: AbortSignal;
  readonly onBytes?: (total: number) => void;
}

/** Bytes of a manifest or a summary. */
const LARGEST_TEXT = 64 * 1024 ** 2;

/** UsageError where there is no such file; MEMORY_ARCHIVE_INVALID for what is no backup, and for another passphrase. */
export async function openBackup(file: string, { passphrase, signal, onBytes }: OpenOptions): Promise<OpenBackup> {
  if (file === STANDARD) throw new UsageError("A backup is not read from standard input.", "Name its file.");
  // Says what is wrong with the path.
  await openBytes(file).then((opened) => void opened[Symbol.asyncIterator]().return?.());
  const bytes = createReadStream(file, { signal, highWaterMark: 256 * 1024 });
  const entries = readEntries(unseal(counted(bytes, onBytes ?? (() => undefined)), passphrase));
  const close = async (): Promise<void> => {
    await entries.return(undefined);
    bytes.destroy();
  };
  try {
    const first = await entries.next();
    if (first.done || first.value.entry.name !== MANIFEST) throw invalid("it does not begin as one");
    const manifest = parseManifest(await textOf(first.value));
    return { manifest, close, read: (take) => readRest(entries, manifest, take) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A `Take` that checks the archives of memories with their own counts and hashes, and touches nothing. */
export const verifyOnly: Take = async (entry, content) => {
  if (entry.isMemory) await verifyPackedArchive(content, entry.size);
};

async function readRest(entries: AsyncIterable<ReadItem>, manifest: Manifest, take: Take): Promise<Summary> {
  const tally = new Tally();
  const memories = new Map(manifest.memories.map((memory) => [memory.entry, memory]));
  let summary: Summary | undefined;
  for await (const item of entries) {
    if (summary !== undefined) throw invalid("something follows the list of its parts");
    if (item.entry.name === SUMMARY) {
      summary = parseSummary(await textOf(item));
      continue;
    }
    const memory = memories.get(item.entry.name);
    const entry = checked(item.entry, memory !== undefined);
    tally.begin(entry);
    const hash = memory === undefined ? null : createHash("sha256");
    const content = observed(item.content, (chunk) => {
      tally.content(entry.name, chunk);
      hash?.update(chunk);
    });
    await take(entry, content);
    // What was not read by it counts, too.
    for await (const _ of content);
    if (memory === undefined) continue;
    memories.delete(memory.entry);
    if (memory.bytes !== entry.size || memory.sha256 !== hash?.digest("hex")) throw invalid("its memory was altered");
  }
  if (summary === undefined) throw invalid("the list of its parts is missing");
  if (memories.size > 0) throw invalid("a memory is missing");
  if (JSON.stringify(summary.parts) !== JSON.stringify(tally.parts())) throw invalid("a part of it was altered");
  return summary;
}

const PARTS: ReadonlySet<string> = new Set([DIRECTORY, HOME, NODES]);

/** MEMORY_ARCHIVE_INVALID for what no backup of ours has, and for what would be written anywhere else. */
function checked(entry: Entry, isMemory: boolean): CheckedEntry {
  const components = componentsOf(entry.name);
  const [part = "", ...below] = components ?? [];
  const isExpected = entry.name === MEMORY ? isMemory : PARTS.has(part) && below.length > 0;
  if (components === null || !isExpected) throw invalid("it names a file outside of its parts");
  if (isMemory && entry.type !== "file") throw invalid("its memory is no file");
  if (entry.type === "link" && !staysInside(below, entry.target ?? "")) {
    throw invalid("a link in it leads out of its part");
  }
  return { ...entry, components, isMemory };
}

/** Can be read on where the first reader has stopped. */
function observed(content: AsyncIterable<Uint8Array>, onChunk: (chunk: Uint8Array) => void): AsyncIterable<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]();
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const step = await chunks.next();
    if (!step.done) onChunk(step.value);
    return step;
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

async function textOf({ entry, content }: ReadItem): Promise<string> {
  if (entry.type !== "file" || entry.size > LARGEST_TEXT) throw invalid(`${entry.name} was altered`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
