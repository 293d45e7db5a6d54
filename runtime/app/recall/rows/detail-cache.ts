import { LRUCache } from "lru-cache";
import { importanceOf } from "../../../domain/importance.ts";
import type { RowRef, ShownRow } from "../found.ts";

/**
 * What answers have shown of rows beyond what ranks them: whole contents, and what lies under summaries. A summary is stored
 * together with what it stands for, and nothing of that is ever changed.
 */

export interface UnderFacts extends ShownRow {
  /** The whole content. */
  readonly head: string;
}

/** A row under a summary. */
export class UnderRow {
  readonly facts: UnderFacts;
  #importance: number | undefined;

  constructor(facts: UnderFacts) {
    this.facts = facts;
  }

  /** Base importance of its kind. Lazy: expensive, computed once. */
  get importance(): number {
    this.#importance ??= importanceOf(this.facts.head);
    return this.#importance;
  }
}

/** Of one summary. */
export interface Under {
  /** Summaries, oldest first. */
  readonly children: readonly UnderRow[];
  /** Messages, in their order. */
  readonly sources: readonly UnderRow[];
}

const MAX_BYTES = 8 * 1024 * 1024;
/** A single one must not push out all others. */
const MAX_ENTRY_BYTES = MAX_BYTES / 16;
const ROW_OVERHEAD = 700;
const CHARACTER = 2;

type Entry = { readonly content: string } | { readonly under: Under };

export class DetailCache {
  readonly #entries = new LRUCache<string, Entry>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: sizeOf,
  });

  content({ kind, id }: RowRef): string | undefined {
    const entry = this.#entries.get(`${kind} ${id}`);
    return entry !== undefined && "content" in entry ? entry.content : undefined;
  }

  keepContent({ kind, id }: RowRef, content: string): void {
    this.#entries.set(`${kind} ${id}`, { content });
  }

  under(summaryId: string): Under | undefined {
    const entry = this.#entries.get(`under ${summaryId}`);
    return entry !== undefined && "under" in entry ? entry.under : undefined;
  }

  /** The content of a tool call may come later: what has one without is not kept. */
  keepUnder(summaryId: string, under: Under): void {
    if ([...under.children, ...under.sources].some(({ facts }) => facts.head === "")) return;
    this.#entries.set(`under ${summaryId}`, { under });
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Bytes that are taken, about. */
  get bytes(): number {
    return this.#entries.calculatedSize;
  }
}

function sizeOf(entry: Entry): number {
  if ("content" in entry) return ROW_OVERHEAD + entry.content.length * CHARACTER;
  const rows = [...entry.under.children, ...entry.under.sources];
  return rows.reduce((bytes, { facts }) => bytes + ROW_OVERHEAD + facts.head.length * CHARACTER, ROW_OVERHEAD);
}
