/**
 * The files of the audit log: one JSON object a line, one file a day. All lines go through one queue, in order, and each has a hash
 * over those before it. A line that cannot be written is lost and counted, and nothing waits for it to become possible.
 */

import { appendFile, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { type AuditFileName, endOfChain, Link, listAuditFiles, NO_HASH } from "../../../files/audit-chain.ts";

export interface AuditFile {
  /** Adds a line with the time of now. Never rejects; resolves when the line is written, or lost. */
  append(entry: Readonly<Record<string, unknown>>): Promise<void>;
  status(): AuditStatus;
}

export interface AuditStatus {
  /** Why the last line could not be written: a code of the system, such as ENOSPC; null while all is well. */
  readonly failing: string | null;
  /** Lines lost since the start. */
  readonly lost: number;
}

export interface AuditFileDeps {
  /** Directory of the day files; made with mode 0700, its files with 0600. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Lines that wait for a disk that does not answer; further ones are lost. */
const MAX_WAITING = 10_000;
/** Files without a hash after which the search ends: a version that knew no hashes wrote them, and those before them. */
const MOST_WITHOUT_HASH = 2;

export function createAuditFile({ directory, clock, logger }: AuditFileDeps): AuditFile {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let failing: string | null = null;
  let lost = 0;
  /** Of these, the ones that no line has reported yet. */
  let unreported = 0;
  /** The file that was written last, and its end as of then; null: it is to be read. */
  let end: ChainEnd | null = null;

  async function write(at: string, entry: Readonly<Record<string, unknown>>): Promise<void> {
    const path = join(directory, `${at.slice(0, 10)}.jsonl`);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (end?.path !== path) end = await readEnd(path, end);
      else if (failing !== null) end = await readOn(end);
      const lines = [
        ...end.unreadable.map((gap) => ({ at, event: "audit.gap", ...gap })),
        ...(unreported > 0 ? [{ at, event: "audit.gap", lost: unreported, reason: failing }] : []),
        { at, ...entry },
      ];
      const { text, hash } = chained(lines, end);
      await appendFile(path, text, { mode: 0o600 });
      const size = end.size + Buffer.byteLength(text);
      end = { path, hash, isFirst: false, link: new Link(), isCut: false, size, unreadable: [] };
      if (failing !== null) logger.warn({ lost: unreported }, "the audit log can be written again");
      failing = null;
      unreported = 0;
    } catch (error) {
      lose(codeOf(error) ?? "UNKNOWN", error);
    }
  }

  /** A line that failed may be there in part, and is covered by the hash of the next one. */
  async function readOn(before: ChainEnd): Promise<ChainEnd> {
    const { path } = before;
    const size = await sizeOf(path);
    if (size < before.size) return readEnd(path, before);
    if (size === before.size) return before;
    const { hash, ...more } = await endOfChain(path, { ...before, hash: null });
    return { ...before, ...more, ...(hash === null ? {} : { hash, isFirst: false }) };
  }

  /** Of a new file: it goes on from the newest that there is. */
  async function readEnd(path: string, last: ChainEnd | null): Promise<ChainEnd> {
    const files = await listAuditFiles(directory);
    const own = files.find((file) => file.path === path);
    const { hash, ...more } = own ? await endOfChain(path) : { hash: null, link: new Link(), isCut: false, size: 0 };
    if (hash !== null) return { path, hash, isFirst: false, unreadable: [], ...more };
    const { hash: newest, unreadable } = last ?? (await newestHash(files.filter((file) => file !== own)));
    return { path, hash: newest, isFirst: true, unreadable, ...more };
  }

  /** A file that cannot be read is passed over: the line that goes on from one before it says so. */
  async function newestHash(files: readonly AuditFileName[]): Promise<Pick<ChainEnd, "hash" | "unreadable">> {
    const unreadable: UnreadableFile[] = [];
    let withoutHash = 0;
    for (const { name, path } of files.toReversed()) {
      try {
        const { hash } = await endOfChain(path);
        if (hash !== null) return { hash, unreadable };
        withoutHash += 1;
      } catch (error) {
        const reason = codeOf(error) ?? "UNKNOWN";
        logger.warn({ err: error, reason, directory, file: name }, "a file of the audit log cannot be read");
        unreadable.push({ file: name, reason });
      }
      if (withoutHash === MOST_WITHOUT_HASH) break;
    }
    return { hash: NO_HASH, unreadable };
  }

  function lose(reason: string, error?: unknown): void {
    lost++;
    unreported++;
    if (failing === null) logger.error({ err: error, reason, directory }, "the audit log could not be written");
    failing = reason;
  }

  return {
    append(entry) {
      if (waiting >= MAX_WAITING) {
        lose("QUEUE_FULL");
        return Promise.resolve();
      }
      waiting++;
      const at = clock.now().toISOString();
      last = last.then(() => write(at, entry)).finally(() => waiting--);
      return last;
    },
    status: () => ({ failing, lost }),
  };
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}

interface ChainEnd {
  readonly path: string;
  /** The last one of the chain. */
  readonly hash: string;
  /** The file has no line of the chain yet. */
  readonly isFirst: boolean;
  /** What stands in the file behind the chain. */
  readonly link: Link;
  /** It does not end with a newline. */
  readonly isCut: boolean;
  /** Bytes of the file up to here. */
  readonly size: number;
  /** Newer than the file that the hash is of; not in the log yet. */
  readonly unreadable: readonly UnreadableFile[];
}

interface UnreadableFile {
  readonly file: string;
  /** A code of the system, such as Z_DATA_ERROR. */
  readonly reason: string;
}

function chained(
  entries: readonly Readonly<Record<string, unknown>>[],
  { hash: before, isFirst, link: behind, isCut }: ChainEnd,
): { readonly text: string; readonly hash: string } {
  let text = isCut ? "\n" : "";
  let hash = before;
  let link = behind.copy();
  link.add(text);
  for (const [index, entry] of entries.entries()) {
    const prev = isFirst && index === 0 ? `,"prev":"${hash}"` : "";
    const covered = `${JSON.stringify(entry).slice(0, -1)}${prev}`;
    link.add(covered);
    hash = link.hash(hash);
    text += `${covered},"hash":"${hash}"}\n`;
    link = new Link();
  }
  return { text, hash };
}
