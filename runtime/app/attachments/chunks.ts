/**
 * The table of attachments. Rows are content-addressed and never changed: every one of them was written together with a message that
 * names it, and goes when the last that names it is forgotten.
 */

import type { Queryable, Transaction } from "../../contracts/database.ts";
import type { ReceivedAttachment } from "./refs.ts";

/** Bytes in a row: a statement's parameters and results are in memory several times, in the embedded store's thread as well. */
export const CHUNK = 256 * 1024;
const CHUNKS_A_READ = 4;
const LISTED = 200;

/** Writes what is not there yet. In one order, so that two messages with the same attachments do not wait for each other. */
export async function writeAttachments(tx: Transaction, received: readonly ReceivedAttachment[]): Promise<void> {
  const byHash = new Map(received.map(({ ref, data }) => [ref.sha256, data]));
  for (const [sha256, data] of [...byHash].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (let n = 0; n === 0 || n * CHUNK < data.length; n++) {
      const written = await writeChunk(tx, sha256, n, data.subarray(n * CHUNK, (n + 1) * CHUNK));
      if (!written) break;
    }
  }
}

/** False where the chunk is there. Its transaction writes all chunks, from 0: where the first one is there, all are. */
export async function writeChunk(tx: Transaction, sha256: string, n: number, bytes: Buffer): Promise<boolean> {
  const { count } = await tx.query(
    "/* attachments:write */ insert into attachments (sha256, n, bytes) values ($1, $2, $3) on conflict do nothing",
    [sha256, n, bytes],
  );
  return count > 0;
}

/** In their order; nothing where the store does not have it. */
export async function* readChunks(database: Queryable, sha256: string): AsyncGenerator<Buffer> {
  for (let n = 0; ; n += CHUNKS_A_READ) {
    const { rows } = await database.query<{ readonly bytes: Buffer }>(
      "/* attachments:read */ select bytes from attachments where sha256 = $1 and n >= $2 and n < $3 order by n",
      [sha256, n, n + CHUNKS_A_READ],
    );
    for (const { bytes } of rows) yield bytes;
    if (rows.length < CHUNKS_A_READ) return;
  }
}

export async function readAttachment(database: Queryable, sha256: string): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(database, sha256)) chunks.push(chunk);
  return chunks.length === 0 ? null : Buffer.concat(chunks);
}

/** All of the store, by their hashes. Sizes in bytes. */
export async function* listAttachments(
  database: Queryable,
): AsyncGenerator<{ readonly sha256: string; readonly size: number }> {
  for (let last = ""; ; ) {
    const { rows } = await database.query<{ readonly sha256: string; readonly size: number }>(
      `/* attachments:list */ select sha256, sum(octet_length(bytes)) as size from attachments
       where sha256 > $1 group by sha256 order by sha256 limit ${LISTED}`,
      [last],
    );
    yield* rows;
    const newest = rows.at(-1);
    if (newest === undefined || rows.length < LISTED) return;
    last = newest.sha256;
  }
}
