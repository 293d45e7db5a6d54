/**
 * The archive of a memory: gzipped JSON lines. A header, then sections of rows, each closed by its count and hash, then the manifest
 * that lists them all. Structural lines begin with a member whose name begins with `$`; rows never do.
 */

import { createHash, type Hash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { MemoryError } from "../contracts/errors.ts";
import { codeOf } from "../contracts/system-errors.ts";

export const FORMAT = 1;

export interface ArchiveHeader {
  readonly format: number;
  /** Version of the service that wrote it. */
  readonly version: string;
  readonly schema_version: number;
  readonly created_at: string;
}

export interface SectionEnd {
  readonly name: string;
  /** Rows, or files in the section `attachments`. */
  readonly count: number;
  /** SHA-256 over the section's lines from its start on, each with its line feed. */
  readonly sha256: string;
}

/** What a reader meets, in order: header, then for each section its start, its lines and its end. */
export type ArchivePart =
  | { readonly part: "header"; readonly header: ArchiveHeader }
  | { readonly part: "section"; readonly name: string; readonly columns: readonly string[] }
  | { readonly part: "line"; readonly line: string }
  | { readonly part: "end"; readonly end: SectionEnd };

/** Makes the lines of an archive, without their line feeds, and keeps the manifest. */
export class ArchiveLines {
  readonly #ends: SectionEnd[] = [];
  #header = "";
  #open: { readonly name: string; readonly hash: Hash; count: number } | undefined;

  header(header: ArchiveHeader): string {
    this.#header = JSON.stringify({ $archive: "cairn", ...header });
    return this.#header;
  }

  start(name: string, columns: readonly string[] = []): string {
    const line = JSON.stringify({ $section: name, columns });
    this.#open = { name, hash: startedHash(line), count: 0 };
    return line;
  }

  /** A line of the open section; `counts` is false for a line that continues the one before. */
  line(line: string, counts = true): string {
    if (this.#open === undefined) throw new Error("no section is open");
    this.#open.hash.update(line).update("\n");
    if (counts) this.#open.count += 1;
    return line;
  }

  end(): string {
    if (this.#open === undefined) throw new Error("no section is open");
    const { name, hash, count } = this.#open;
    const end = { name, count, sha256: hash.digest("hex") };
    this.#ends.push(end);
    this.#open = undefined;
    return JSON.stringify({ $end: end });
  }

  manifest(): string {
    return JSON.stringify({ $manifest: this.#ends, sha256: manifestHash(this.#header, this.#ends) });
  }
}

/**
 * Reads and verifies. MEMORY_ARCHIVE_INVALID when a count or hash does not match, when anything is missing, out of
 * place, or follows the manifest: an archive that was read to its end is the one that was written.
 */
export async function* readArchive(lines: AsyncIterable<string>): AsyncGenerator<ArchivePart> {
  const ends: SectionEnd[] = [];
  let open: { readonly name: string; readonly hash: Hash; count: number } | undefined;
  let header: string | undefined;
  let complete = false;
  for await (const line of lines) {
    if (complete) throw invalid("something follows its manifest");
    if (header === undefined) {
      header = line;
      yield { part: "header", header: headerOf(structure(line)) };
    } else if (open !== undefined && !line.startsWith('{"$end"')) {
      open.hash.update(line).update("\n");
      if (open.name !== "attachments" || !line.startsWith('{"data"')) open.count += 1;
      yield { part: "line", line };
    } else if (open !== undefined) {
      const end = endOf(structure(line));
      if (end.name !== open.name || end.count !== open.count || end.sha256 !== open.hash.digest("hex")) {
        throw invalid(`its section ${open.name} was altered`);
      }
      ends.push(end);
      open = undefined;
      yield { part: "end", end };
    } else {
      const found = structure(line);
      if ("$manifest" in found) {
        const same =
          JSON.stringify(found.$manifest) === JSON.stringify(ends) && found.sha256 === manifestHash(header, ends);
        if (!same) throw invalid("its manifest does not match its sections");
        complete = true;
        continue;
      }
      const section = sectionOf(found);
      open = { name: section.name, hash: startedHash(line), count: 0 };
      yield section;
    }
  }
  if (!complete) throw invalid("it ends before its manifest");
}

/** An archive may unpack to `ratio` times its size, and each to `atLeast` bytes. */
export interface UnpackedLimit {
  readonly atLeast: number;
  readonly ratio: number;
}

/** Texts of a transcript have about a tenth of their size when packed; no real archive comes near this. */
export const UNPACKED: UnpackedLimit = { atLeast: 1024 ** 3, ratio: 250 };

/** As `readArchive`, of the packed bytes. `size`: how many these are. */
export async function* readPackedArchive(
  packed: AsyncIterable<Uint8Array>,
  size: number,
  { atLeast, ratio }: UnpackedLimit = UNPACKED,
): AsyncGenerator<ArchivePart> {
  const gunzip = createGunzip();
  const piped = pipeline(packed, gunzip);
  piped.catch(() => {});
  try {
    yield* readArchive(linesOf(bounded(gunzip, Math.max(atLeast, size * ratio))));
    await piped;
  } catch (error) {
    throw error instanceof MemoryError ? error : invalid("it is cut off or altered", error);
  } finally {
    gunzip.destroy();
  }
}

export interface ArchiveSummary {
  readonly header: ArchiveHeader;
  readonly sections: readonly SectionEnd[];
}

/** Reads the packed bytes to their end, with all counts and hashes. MEMORY_ARCHIVE_INVALID as of `readArchive`. */
export async function verifyPackedArchive(packed: AsyncIterable<Uint8Array>, size: number): Promise<ArchiveSummary> {
  let header: ArchiveHeader | undefined;
  const sections: SectionEnd[] = [];
  for await (const part of readPackedArchive(packed, size)) {
    if (part.part === "header") header = part.header;
    if (part.part === "end") sections.push(part.end);
  }
  if (header === undefined) throw invalid("it has no header");
  return { header, sections };
}

/** No more than `largest` bytes of a stream: a small file can unpack to any size. */
async function* bounded(bytes: AsyncIterable<Uint8Array>, largest: number): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > largest) throw invalid(`it unpacks to more than ${largest} bytes, which no archive of its size does`);
    yield chunk;
  }
}

/** A line is one row. A longer one is refused, because a small compressed file could fill the memory. */
const LONGEST_LINE = 128 * 1024 ** 2;

/** Lines of a byte stream in UTF-8, without their line feeds; only a line feed ends a line. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (pieces: readonly Uint8Array[]): string => {
    try {
      return decoder.decode(Buffer.concat(pieces));
    } catch (cause) {
      throw invalid("it is not text in UTF-8", cause);
    }
  };
  let rest: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of bytes) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      yield decode([...rest, chunk.subarray(start, end)]);
      rest = [];
      held = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    held += chunk.length - start;
    if (held > LONGEST_LINE) throw invalid(`a line of it is longer than ${LONGEST_LINE} bytes`);
  }
  if (rest.length > 0) yield decode(rest);
}

/** Whether the database refused a value or a row as such: it is the archive that is wrong, not the store. */
export function isBadData(error: unknown): boolean {
  if (!(error instanceof MemoryError) || error.code !== "MEMORY_QUERY_FAILED") return false;
  const { cause } = error;
  const state = codeOf(cause) ?? "";
  // Data exceptions, broken constraints, limits of the server.
  return ["22", "23", "54"].includes(state.slice(0, 2));
}

export function invalid(why: string, cause?: unknown): MemoryError {
  return new MemoryError("MEMORY_ARCHIVE_INVALID", `The archive cannot be used: ${why}.`, { cause });
}

function startedHash(line: string): Hash {
  return createHash("sha256").update(line).update("\n");
}

/** Over the header and the ends of all sections: what no section's own hash covers. */
function manifestHash(header: string, ends: readonly SectionEnd[]): string {
  return createHash("sha256").update(header).update("\n").update(JSON.stringify(ends)).digest("hex");
}

type Structure = Readonly<Record<string, unknown>>;

function structure(line: string): Structure {
  try {
    const value: unknown = JSON.parse(line);
    if (isStructure(value)) return value;
  } catch {
    // Falls through to the error that says so.
  }
  throw invalid("it is not an archive of Cairn, or was altered");
}

function isStructure(value: unknown): value is Structure {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function headerOf({ $archive, format, version, schema_version, created_at }: Structure): ArchiveHeader {
  if ($archive !== "cairn" || typeof format !== "number") throw invalid("it is not an archive of Cairn");
  if (format !== FORMAT) throw invalid(`its format ${format} is not known here`);
  if (typeof version !== "string" || typeof schema_version !== "number" || typeof created_at !== "string") {
    throw invalid("its header is not complete");
  }
  return { format, version, schema_version, created_at };
}

function sectionOf({ $section: name, columns }: Structure): ArchivePart & { part: "section" } {
  if (typeof name === "string" && Array.isArray(columns) && columns.every((column) => typeof column === "string")) {
    return { part: "section", name, columns };
  }
  throw invalid("a section of it was altered");
}

function endOf({ $end: end }: Structure): SectionEnd {
  if (isStructure(end)) {
    const { name, count, sha256 } = end;
    if (typeof name === "string" && typeof count === "number" && typeof sha256 === "string") {
      return { name, count, sha256 };
    }
  }
  throw invalid("the end of a section was altered");
}
