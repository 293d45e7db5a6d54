import type { FoundRow, RowRef } from "../found.ts";
import { type Access, NEVER } from "./access-count-cache.ts";
import type { CachedRow } from "./cached-row.ts";
import type { Changes, Position } from "./changes.ts";
import type { Loading } from "./load.ts";
import type { RowCache } from "./row-cache.ts";
import type { StoreState } from "./state.ts";

/** A row as one search sees it. */
export interface Seen {
  readonly row: CachedRow;
  vector: Float32Array | null;
  /** Cosine of the row's vector and the query's, where the database has computed it; undefined where not. */
  cosine: number | null | undefined;
  /** Undefined until it was read. */
  access: Access | undefined;
}

/**
 * The rows of one search: what the cache had of them at its start, and what was read since. It holds them itself, so that
 * an eviction meanwhile does no harm.
 */
export class SearchSnapshot {
  readonly #cache: RowCache;
  /** The state of the database in which all of it holds. */
  readonly state: string | undefined;
  /** Whether the cached access counts are those of the database now. */
  readonly #accessesHold: boolean;
  readonly #byId = { message: new Map<string, Seen>(), summary: new Map<string, Seen>() };
  readonly #bySeq = new Map<number, Seen>();

  constructor(cache: RowCache, state: string | undefined, { accessesHold }: { readonly accessesHold: boolean }) {
    this.#cache = cache;
    this.state = state;
    this.#accessesHold = accessesHold;
  }

  /** Whether the cache still is of the state in which this was read. */
  get #keeps(): boolean {
    return this.state !== undefined && this.#cache.state === this.state;
  }

  get size(): number {
    return this.#byId.message.size + this.#byId.summary.size;
  }

  all(): Seen[] {
    return [...this.#byId.message.values(), ...this.#byId.summary.values()];
  }

  row({ kind, id }: RowRef): Seen | undefined {
    return this.#byId[kind].get(id);
  }

  message(seq: number): Seen | undefined {
    return this.#bySeq.get(seq);
  }

  /** Takes the row from the cache; undefined when it is not cached. */
  recall(found: FoundRow): Seen | undefined {
    const seen = this.row(found) ?? this.#fromCache(this.#cache.row(found.kind, found.id));
    if (seen !== undefined && found.cosine !== undefined) seen.cosine = found.cosine;
    return seen;
  }

  recallMessage(seq: number): Seen | undefined {
    return this.message(seq) ?? this.#fromCache(this.#cache.message(seq));
  }

  #fromCache(row: CachedRow | undefined): Seen | undefined {
    if (row === undefined) return undefined;
    const vector = this.#cache.vector(row.facts.kind, row.facts.id) ?? null;
    const access = this.#accessesHold ? this.#cache.accesses.get(row.facts) : undefined;
    return this.#see({ row, vector, cosine: undefined, access });
  }

  #see(seen: Seen): Seen {
    const { kind, id, seq } = seen.row.facts;
    this.#byId[kind].set(id, seen);
    if (kind === "message") this.#bySeq.set(seq, seen);
    return seen;
  }

  /** Whether what was read holds in the same state as all that is here. */
  agrees({ state }: { readonly state: StoreState | undefined }): boolean {
    return state === undefined || state.text === this.state;
  }

  /** Takes what was read, and caches what does not change. */
  add({ state, rows }: Loading): void {
    const keep = this.#keeps;
    for (const { row: read, lasting, vector, cosine, access } of rows) {
      const row = preferRicher(this.row(read.facts)?.row, read);
      this.#see({ row, vector, cosine, access });
      if (!keep || !lasting) continue;
      if (state !== undefined) this.#cache.accesses.keep(state.accessVersion, row.facts, access);
      this.#cache.keep(row);
      if (vector !== null) this.#cache.keepVector(row.facts.kind, row.facts.id, vector);
    }
  }

  /** Takes what may have changed; `asked` are the rows whose accesses were wanted. */
  take({ state, accesses, vectors, cosines }: Changes, asked: readonly RowRef[]): void {
    for (const { kind, id } of asked) {
      const access = accesses[kind].get(id) ?? NEVER;
      const seen = this.row({ kind, id });
      if (seen !== undefined) seen.access = access;
      if (this.#keeps) this.#cache.accesses.keep(state.accessVersion, { kind, id }, access);
    }
    for (const { kind, id, cosine } of cosines) {
      const seen = this.row({ kind, id });
      if (seen !== undefined) seen.cosine = cosine;
    }
    for (const { kind, id, vector } of vectors) {
      const seen = this.row({ kind, id });
      if (seen !== undefined) seen.vector = vector;
      if (this.#keeps) this.#cache.keepVector(kind, id, vector);
    }
  }
}

/** Neighbours are only read where they matter; reading the row again must not lose them. */
function preferRicher(cached: CachedRow | undefined, read: CachedRow): CachedRow {
  return cached?.hasNeighbours === true && !read.hasNeighbours ? cached : read;
}

/** Positions of a row's neighbours. */
export function neighboursOf({ facts, neighbours }: CachedRow): Position[] {
  const { conversationId } = facts;
  return conversationId === null ? [] : neighbours.map((seq) => ({ conversationId, seq }));
}
