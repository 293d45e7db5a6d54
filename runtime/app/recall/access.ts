import type { Database } from "../../contracts/database.ts";
import type { MemoryHit } from "../../contracts/memory.ts";
import type { Logger } from "../../contracts/ports.ts";
import { type RowRef, rowKey } from "./found.ts";

/** How often and when last a row was handed out as a search result: what keeps it from fading. */

/** What one or more answers have handed out. */
export interface Accesses extends RowRef {
  readonly count: number;
  readonly lastMs: number;
}

/** Adds them, each row once. */
export async function countAccess(database: Database, accesses: readonly Accesses[]): Promise<void> {
  await database.transaction(
    (tx) =>
      tx.query(
        `insert into access (kind, id, access_count, last_accessed_at)
         select kind, id, count, to_timestamp(ms / 1000)
         from unnest($1::text[], $2::uuid[], $3::int[], $4::float8[]) as seen (kind, id, count, ms)
         where not exists (select from forgotten f where f.message_id = seen.id)
           and not exists (select from forgotten_summaries f where f.summary_id = seen.id)
         order by kind, id
         on conflict (kind, id) do update set
           access_count = access.access_count + excluded.access_count,
           last_accessed_at = greatest(access.last_accessed_at, excluded.last_accessed_at)`,
        [
          accesses.map(({ kind }) => kind),
          accesses.map(({ id }) => id),
          accesses.map(({ count }) => count),
          accesses.map(({ lastMs }) => lastMs),
        ],
      ),
    { durable: false },
  );
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

/** What a write that fails would have counted is lost, as is what comes on top of a full queue; both are logged. */
export function createAccessCounter(database: Database, logger: Pick<Logger, "warn">): AccessCounter {
  let gathered = new Map<string, Accesses>();
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let due = false;
  let writing = false;
  let written: Promise<void> = Promise.resolve();

  async function write(accesses: readonly Accesses[]): Promise<void> {
    try {
      await countAccess(database, accesses);
    } catch (error) {
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
    const key = rowKey(row);
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
      const rows = new Map(rowsOf(hits).map((row) => [rowKey(row), row]));
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
