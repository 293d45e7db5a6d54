import { LRUCache } from "lru-cache";
import { type Access, type RowRef, rowKey, type ShownRow } from "../found.ts";
import type { CachedRow } from "./cached-row.ts";

/**
 * Rows and vectors that searches have met, kept in the node's memory up to a number of bytes, those that were not asked for
 * the longest dropped first. One a database. Nothing is found here: the database says which rows a search finds.
 */

export interface RowCacheBounds {
  readonly rowBytes: number;
  readonly vectorBytes: number;
  /** So old, in milliseconds, access counts of what lies under a summary may be: they are shown, nothing is ranked by them. */
  readonly accessAgeMs: number;
}

const BOUNDS: RowCacheBounds = {
  rowBytes: 40 * 1024 * 1024,
  vectorBytes: 24 * 1024 * 1024,
  accessAgeMs: 60_000,
};
/** What a vector takes beside its numbers: its buffer, its key, its place in the map. */
const VECTOR_OVERHEAD = 320;
/** Bytes of a row of some twenty words. */
const USUAL_ROW = 2_500;
/** A single one must not push out all others. */
const LARGEST_SHARE = 1 / 32;

/** What lies under a summary: stored together with it, and never changed. */
export interface UnderRow extends ShownRow {
  readonly relation: "child" | "source";
  /** The whole content. */
  readonly head: string;
}

export interface CachedUnder {
  readonly rows: readonly UnderRow[];
  /** By `rowKey`: how often each of the rows was handed out. */
  readonly counts: ReadonlyMap<string, Access>;
  /** When the counts were read. */
  readonly at: Date;
}

const UNDER_BYTES = 8 * 1024 * 1024;
const UNDER_OVERHEAD = 700;

export class RowCache {
  readonly #bounds: Partial<RowCacheBounds>;
  #store: string | undefined;
  #rows: CachedRows;

  constructor(bounds: Partial<RowCacheBounds> = {}) {
    this.#bounds = bounds;
    this.#rows = new CachedRows(bounds);
  }

  /**
   * The rows of the store with this identity (`AnalyzedQuery.store`). Those of another one are forgotten: its ids may stand
   * for something else. A search that is still under way goes on with the rows that it has got here.
   */
  of(store: string): CachedRows {
    if (store !== this.#store) {
      this.#store = store;
      this.#rows = new CachedRows(this.#bounds);
    }
    return this.#rows;
  }

  /** Bytes that are taken, about. */
  get bytes(): CachedRows["bytes"] {
    return this.#rows.bytes;
  }
}

export class CachedRows {
  readonly #rows: LRUCache<string, CachedRow>;
  readonly #vectors: LRUCache<string, Float32Array>;
  readonly #under = new LRUCache<string, CachedUnder>({
    maxSize: UNDER_BYTES,
    maxEntrySize: UNDER_BYTES / 16,
    sizeCalculation: ({ rows }) =>
      rows.reduce((bytes, { head }) => bytes + UNDER_OVERHEAD + 2 * head.length, UNDER_OVERHEAD),
  });
  readonly #accessAgeMs: number;

  constructor(bounds: Partial<RowCacheBounds> = {}) {
    const { rowBytes, vectorBytes, accessAgeMs } = { ...BOUNDS, ...bounds };
    this.#accessAgeMs = accessAgeMs;
    this.#rows = new LRUCache<string, CachedRow>({
      maxSize: rowBytes,
      maxEntrySize: Math.ceil(rowBytes * LARGEST_SHARE),
      sizeCalculation: ({ size }) => size,
    });
    this.#vectors = new LRUCache<string, Float32Array>({
      maxSize: vectorBytes,
      maxEntrySize: Math.ceil(vectorBytes * LARGEST_SHARE),
      sizeCalculation: ({ byteLength }) => byteLength + VECTOR_OVERHEAD,
    });
  }

  /** Whether all of a store of so many messages and vectors of so many dimensions would find room, by and large. */
  couldHold(messages: number, dimensions: number): boolean {
    return (
      messages * USUAL_ROW <= this.#rows.maxSize &&
      messages * (dimensions * Float32Array.BYTES_PER_ELEMENT + VECTOR_OVERHEAD) <= this.#vectors.maxSize
    );
  }

  row(ref: RowRef): CachedRow | undefined {
    return this.#rows.get(rowKey(ref));
  }

  vector(ref: RowRef): Float32Array | undefined {
    return this.#vectors.get(rowKey(ref));
  }

  keep(row: CachedRow): void {
    this.#rows.set(rowKey(row.facts), row);
  }

  keepVector(ref: RowRef, vector: Float32Array): void {
    this.#vectors.set(rowKey(ref), vector);
  }

  under(summaryId: string): readonly UnderRow[] | undefined {
    return this.#under.get(summaryId)?.rows;
  }

  /** Undefined where they are too old at this time. */
  accessesUnder(summaryId: string, now: Date): CachedUnder["counts"] | undefined {
    const under = this.#under.get(summaryId);
    if (under === undefined || Math.abs(now.getTime() - under.at.getTime()) >= this.#accessAgeMs) return undefined;
    return under.counts;
  }

  /** The content of a tool call may come later: what has one without is not kept. */
  keepUnder(summaryId: string, under: CachedUnder): void {
    if (under.rows.every(({ head }) => head !== "")) this.#under.set(summaryId, under);
  }

  /** Bytes that are taken by rows and vectors, about. */
  get bytes(): { readonly rows: number; readonly vectors: number } {
    return { rows: this.#rows.calculatedSize, vectors: this.#vectors.calculatedSize };
  }
}
