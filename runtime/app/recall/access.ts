import type { Database } from "../../contracts/database.ts";
import type { MemoryHit } from "../../contracts/memory.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { RowRef } from "./found.ts";
import type { AccessCountCache, CountedAccesses } from "./rows/access-count-cache.ts";

/** How often and when last a row was handed out as a search result: what keeps it from fading. */

/** What one or more answers have handed out. */
export interface Accesses extends RowRef {
  readonly count: number;
  readonly lastMs: number;
}

/** Adds them, each row once. One write waits for another, so that what is known before it is all that it does not change. */
export async function countAccess(database: Database, accesses: readonly Accesses[]): Promise<CountedAccesses> {
  const version = "select version from access_version";
  const [before, written, after] = await database.transaction(
    (tx) =>
      Promise.all([
        tx.query<{ readonly version: number }>(`${version} for update`),
        tx.query<RowRef & { readonly count: number; readonly ms: number }>(
          `insert into access (kind, id, access_count, last_accessed_at)
           select kind, id, count, to_timestamp(ms / 1000)
           from unnest($1::text[], $2::uuid[], $3::int[], $4::float8[]) as seen (kind, id, count, ms) order by kind, id
           on conflict (kind, id) do update set
             access_count = access.access_count + excluded.access_count,
             last_accessed_at = greatest(access.last_accessed_at, excluded.last_accessed_at)
           returning kind, id, access_count as count, (extract(epoch from last_accessed_at) * 1000)::float8 as ms`,
          [
            accesses.map(({ kind }) => kind),
            accesses.map(({ id }) => id),
            accesses.map(({ count }) => count),
            accesses.map(({ lastMs }) => lastMs),
          ],
        ),
        tx.query<{ readonly version: number }>(version),
      ]),
    { durable: false },
  );
  return {
    before: before.rows[0]?.version ?? 0,
    after: after.rows[0]?.version ?? 0,
    rows: written.rows.map(({ kind, id, count, ms }) => ({ kind, id, count, lastMs: ms })),
  };
}

/** Answers follow each other closely: what they hand out within this time is written at once. */
const GATHER_MS = 250;
/** Rows that wait for their turn at most: where the store does not take them for long, further ones are not counted. */
const MAX_GATHERED = 5_000;

export interface AccessCounter {
  /** Counts each row of the answer once, soon. */
  count(hits: readonly MemoryHit[], at: Date): void;
  /** Resolves once all is written that was counted. */
  idle(): Promise<void>;
}

/**
 * What it has written the memory knows at once. What a write that fails would have counted is lost, as is what comes on top
 * of a full queue; the log is told.
 */
export function createAccessCounter(
  database: Database,
  cache: AccessCountCache,
  logger: Pick<Logger, "warn">,
): AccessCounter {
  let gathered = new Map<string, Accesses>();
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let due = false;
  let writing = false;
  let written: Promise<void> = Promise.resolve();

  async function write(accesses: readonly Accesses[]): Promise<void> {
    cache.beginWrite();
    try {
      cache.endWrite(await countAccess(database, accesses));
    } catch (error) {
      cache.failWrite();
      logger.warn({ err: error, rows: accesses.length }, "What searches have handed out could not be counted.");
    }
  }

  async function writeWhatIsDue(): Promise<void> {
    writing = true;
    while (due) {
      due = false;
      const accesses = [...gathered.values()];
      gathered = new Map();
      if (accesses.length > 0) await write(accesses);
      if (dropped > 0) logger.warn({ rows: dropped }, "Searches have handed out more than could be counted.");
      dropped = 0;
    }
    writing = false;
  }

  /** One write at a time: what is due meanwhile is gathered, and written when that has ended. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    due = true;
    if (!writing) written = writeWhatIsDue();
    return written;
  }

  function gather(row: RowRef, lastMs: number): void {
    const key = `${row.kind} ${row.id}`;
    const before = gathered.get(key);
    if (before === undefined && gathered.size >= MAX_GATHERED) {
      dropped += 1;
      return;
    }
    gathered.set(key, {
      ...row,
      count: (before?.count ?? 0) + 1,
      lastMs: Math.max(lastMs, before?.lastMs ?? lastMs),
    });
  }

  return {
    count(hits, at) {
      const rows = new Map(rowsOf(hits).map((row) => [`${row.kind} ${row.id}`, row]));
      if (gathered.size + rows.size > MAX_GATHERED) void flush();
      for (const row of rows.values()) gather(row, at.getTime());
      if (gathered.size > 0) timer ??= setTimeout(flush, GATHER_MS).unref();
    },
    idle: flush,
  };
}

/** Every row of an answer, the expanded ones too. */
function rowsOf(hits: readonly MemoryHit[]): RowRef[] {
  return hits.flatMap(({ kind, id, children = [], sources = [] }) => [
    { kind, id },
    ...rowsOf(children),
    ...rowsOf(sources),
  ]);
}
