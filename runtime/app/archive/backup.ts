import { once } from "node:events";
import { createGzip, type Gzip } from "node:zlib";
import type { Database } from "../../contracts/database.ts";
import type { Clock } from "../../contracts/ports.ts";
import { ArchiveLines, FORMAT } from "../../files/memory-archive.ts";
import { attachmentLines } from "./attachment-lines.ts";
import { ATTACHMENTS } from "./sections.ts";
import { type Snapshot, withSnapshot } from "./snapshot.ts";

/** Writes the archive as a stream of bytes, in constant memory: a slow reader slows the reading of the store. */

export interface BackupDeps {
  readonly database: Database;
  /** A directory for temporary files. */
  readonly staging: string;
  readonly clock: Clock;
  readonly version: string;
}

/** The quickest: of 30,000 messages with vectors the default took three times as long, for an archive smaller by an eighth. */
const GZIP_LEVEL = 1;
/** A transaction that does nothing for 30 s is ended. */
const KEEP_ALIVE_MS = 8_000;

export async function* backup(deps: BackupDeps, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const gzip = createGzip({ level: GZIP_LEVEL });
  const stop = () => gzip.destroy(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
  signal?.addEventListener("abort", stop, { once: true });
  const written = withSnapshot(deps.database, deps.staging, (snapshot) => writeArchive(deps, snapshot, gzip)).then(
    () => void gzip.end(),
    (error: unknown) => void gzip.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    for await (const chunk of gzip) yield chunk;
  } finally {
    signal?.removeEventListener("abort", stop);
    // A closed connection ends the snapshot.
    gzip.destroy();
    await written;
  }
}

async function writeArchive(deps: BackupDeps, snapshot: Snapshot, gzip: Gzip): Promise<void> {
  const lines = new ArchiveLines();
  const put = (text: string) => write(gzip, text, snapshot);
  const { version, clock } = deps;
  const created_at = clock.now().toISOString();
  await put(`${lines.header({ format: FORMAT, version, schema_version: snapshot.schemaVersion, created_at })}\n`);
  for (const section of snapshot.sections) {
    await put(`${lines.start(section.name, section.columns)}\n`);
    for await (const page of section.pages()) await put(page.map((row) => `${lines.line(row)}\n`).join(""));
    await put(`${lines.end()}\n`);
  }
  // They are written with the rows that name them, and stay: what the snapshot names is there, however late it is read.
  await put(`${lines.start(ATTACHMENTS)}\n`);
  for await (const { line, counts } of attachmentLines(snapshot.attachments))
    await put(`${lines.line(line, counts)}\n`);
  await put(`${lines.end()}\n`);
  await put(`${lines.manifest()}\n`);
}

async function write(gzip: Gzip, text: string, snapshot: Snapshot): Promise<void> {
  if (gzip.destroyed) throw gzip.errored ?? new Error("The connection was closed before the backup was complete.");
  if (gzip.write(text)) return;
  const abandoned = new AbortController();
  try {
    const drained = once(gzip, "drain", { signal: abandoned.signal }).then(() => true);
    const closed = once(gzip, "close", { signal: abandoned.signal }).then(() => {
      throw gzip.errored ?? new Error("The connection was closed before the backup was complete.");
    });
    drained.catch(() => {});
    closed.catch(() => {});
    while (!(await Promise.race([drained, closed, after(KEEP_ALIVE_MS, abandoned.signal)]))) await snapshot.keepAlive();
  } finally {
    abandoned.abort();
  }
}

/** Resolves to false after the time, or when the signal comes. */
function after(milliseconds: number, signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds, false);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve(false);
      },
      { once: true },
    );
  });
}
