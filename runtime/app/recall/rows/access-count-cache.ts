import type { RowRef } from "../found.ts";

/** How often rows were handed out: valid at one number of the store's writes (migration 012). */

export interface Access {
  readonly count: number;
  /** Milliseconds since 1970; null when it never was. */
  readonly lastMs: number | null;
}

/** A write of one node. */
export interface CountedAccesses {
  /** The store's number of writes, before this write and after it: nobody else wrote between. */
  readonly before: number;
  readonly after: number;
  readonly rows: readonly (RowRef & Access)[];
}

export const NEVER: Access = { count: 0, lastMs: null };

/** Each takes some two hundred bytes. When there are as many it begins anew, which costs a search one statement. */
const MAX_ROWS = 40_000;

export class AccessCountCache {
  readonly #rows = new Map<string, Access>();
  #version: number | undefined;
  #writing = false;

  /** Whether what is here is what stands in the store at this number. */
  holdsAt(version: number): boolean {
    return version === this.#version;
  }

  get({ kind, id }: RowRef): Access | undefined {
    return this.#rows.get(keyOf(kind, id));
  }

  /** Keeps what was read at a number, and forgets what was read at an earlier one. */
  keep(version: number, { kind, id }: RowRef, access: Access): void {
    if (version !== this.#version) {
      // It may be the number of this node's own write, whose end is not known here yet.
      if (this.#writing || version < (this.#version ?? 0)) return;
      this.#enter(version);
    }
    this.#set(kind, id, access);
  }

  /** Call it before this node writes, and the other two when that has ended. One write at a time. */
  beginWrite(): void {
    this.#writing = true;
  }

  /** What this node's write has made of its rows; the others are what they were when nobody else had written before it. */
  endWrite({ before, after, rows }: CountedAccesses): void {
    this.#writing = false;
    if (after < (this.#version ?? 0)) return;
    if (before === this.#version) this.#version = after;
    else this.#enter(after);
    for (const { kind, id, count, lastMs } of rows) this.#set(kind, id, { count, lastMs });
  }

  /** It may have been written or not. */
  failWrite(): void {
    this.#writing = false;
    this.clear();
  }

  clear(): void {
    this.#rows.clear();
    this.#version = undefined;
  }

  #set(kind: RowRef["kind"], id: string, access: Access): void {
    if (this.#rows.size >= MAX_ROWS) this.#rows.clear();
    this.#rows.set(keyOf(kind, id), access);
  }

  #enter(version: number): void {
    this.#rows.clear();
    this.#version = version;
  }
}

function keyOf(kind: RowRef["kind"], id: string): string {
  return kind === "message" ? id : `summary ${id}`;
}
