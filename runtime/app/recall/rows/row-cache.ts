import { LRUCache } from "lru-cache";
import { AccessCountCache } from "./access-count-cache.ts";
import type { CachedRow } from "./cached-row.ts";
import { DetailCache } from "./detail-cache.ts";

/**
 * Rows and vectors that searches have met, kept in the node's memory up to a number of bytes, those that were not asked for
 * the longest dropped first. One a database. Nothing is found here: the database says which rows a search finds, and that
 * only then.
 */

export interface RowCacheBounds {
  readonly rowBytes: number;
  readonly vectorBytes: number;
}

const BOUNDS: RowCacheBounds = { rowBytes: 32 * 1024 * 1024, vectorBytes: 24 * 1024 * 1024 };
/** What a vector takes beside its numbers: its buffer, its key, its place in the map. */
const VECTOR_OVERHEAD = 320;
/** Bytes of a row of some twenty words. */
const USUAL_ROW = 2_500;
/** A single one must not push out all others. */
const LARGEST_SHARE = 1 / 32;

export class RowCache {
  readonly #rows: LRUCache<string, CachedRow>;
  readonly #bySeq = new Map<number, CachedRow>();
  readonly #vectors: LRUCache<string, Float32Array>;
  readonly accesses = new AccessCountCache();
  readonly details = new DetailCache();
  #state: string | undefined;

  constructor({ rowBytes, vectorBytes }: RowCacheBounds = BOUNDS) {
    this.#rows = new LRUCache<string, CachedRow>({
      maxSize: rowBytes,
      maxEntrySize: Math.ceil(rowBytes * LARGEST_SHARE),
      sizeCalculation: ({ size }) => size,
      dispose: (row) => {
        if (this.#bySeq.get(row.facts.seq) === row) this.#bySeq.delete(row.facts.seq);
      },
    });
    this.#vectors = new LRUCache<string, Float32Array>({
      maxSize: vectorBytes,
      maxEntrySize: Math.ceil(vectorBytes * LARGEST_SHARE),
      sizeCalculation: ({ byteLength }) => byteLength + VECTOR_OVERHEAD,
    });
  }

  /**
   * The state of the database (see state.ts) in which everything here was read; undefined while there is nothing. What was
   * read in another one may be gone, so nothing of it is left after a change.
   */
  get state(): string | undefined {
    return this.#state;
  }

  /** Forgets all that was read in another state. */
  enter(state: string): void {
    if (state === this.#state) return;
    this.#rows.clear();
    this.#bySeq.clear();
    this.#vectors.clear();
    this.accesses.clear();
    this.details.clear();
    this.#state = state;
  }

  /** Whether all of a store of so many messages and vectors of so many dimensions would find room, by and large. */
  couldHold(messages: number, dimensions: number): boolean {
    return (
      messages * USUAL_ROW <= this.#rows.maxSize &&
      messages * (dimensions * Float32Array.BYTES_PER_ELEMENT + VECTOR_OVERHEAD) <= this.#vectors.maxSize
    );
  }

  row(kind: CachedRow["facts"]["kind"], id: string): CachedRow | undefined {
    return this.#rows.get(keyOf(kind, id));
  }

  /** The message with this number. */
  message(seq: number): CachedRow | undefined {
    const row = this.#bySeq.get(seq);
    // Asking for it keeps it, as asking by its id does.
    return row === undefined ? undefined : this.#rows.get(row.facts.id);
  }

  vector(kind: CachedRow["facts"]["kind"], id: string): Float32Array | undefined {
    return this.#vectors.get(keyOf(kind, id));
  }

  /** Keeps what was read in the present state. */
  keep(row: CachedRow): void {
    const key = keyOf(row.facts.kind, row.facts.id);
    if (!row.hasNeighbours && this.#rows.get(key)?.hasNeighbours === true) return;
    this.#rows.set(key, row);
    if (row.facts.kind === "message" && this.#rows.has(row.facts.id)) this.#bySeq.set(row.facts.seq, row);
  }

  keepVector(kind: CachedRow["facts"]["kind"], id: string, vector: Float32Array): void {
    this.#vectors.set(keyOf(kind, id), vector);
  }

  /** Bytes that are taken, about. */
  get bytes(): { readonly rows: number; readonly vectors: number } {
    return { rows: this.#rows.calculatedSize, vectors: this.#vectors.calculatedSize };
  }
}

/** Ids are of one kind each; a summary's might be a message's, too, where they were not made here. */
function keyOf(kind: CachedRow["facts"]["kind"], id: string): string {
  return kind === "message" ? id : `summary ${id}`;
}
