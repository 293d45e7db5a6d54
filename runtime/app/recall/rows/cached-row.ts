import type { Role } from "../../../contracts/message.ts";
import type { SummaryKind } from "../../../contracts/records.ts";
import { importanceOf } from "../../../domain/importance.ts";

/**
 * What the ranking wants to know of a row and what stays true of it: rows of the transcript and summaries are never changed.
 * How often a row was read, and which vector it has, stands elsewhere.
 */

export interface RowFacts {
  readonly kind: "message" | "summary";
  readonly id: string;
  /** Null for a summary of no conversation. */
  readonly conversationId: string | null;
  /** Order of insertion among the rows of its kind. */
  readonly seq: number;
  readonly agent: string | null;
  readonly channel: string | null;
  readonly role: Role | null;
  readonly speaker: string | null;
  /** Milliseconds since 1970, with the fraction that the database has. */
  readonly createdMs: number;
  readonly happenedMs: number;
  readonly depth: number | null;
  readonly summaryKind: SummaryKind | null;
  /** Lexemes in it. */
  readonly length: number;
  /** How often each of its lexemes occurs; of a row that is too long to keep, only those of the query. */
  readonly words: ReadonlyMap<string, number>;
  readonly head: string;
  /** Whether `head` is all of the content. */
  readonly whole: boolean;
  /**
   * Numbers of the two messages before it in its conversation, nearest first; fewer where there are no more, null where it was
   * not asked.
   */
  readonly before: readonly number[] | null;
}

/** How many rows on each side count as neighbours. */
export const NEIGHBOURS = 2;

export class CachedRow {
  readonly facts: RowFacts;
  readonly createdAt: Date;
  readonly happenedAt: Date;
  /** As `before`, but more may follow until there are two: a conversation grows at its end. */
  #after: readonly number[] | null;
  #importance: number | undefined;

  constructor(facts: RowFacts, after: readonly number[] | null) {
    this.facts = facts;
    this.createdAt = new Date(facts.createdMs);
    this.happenedAt = facts.happenedMs === facts.createdMs ? this.createdAt : new Date(facts.happenedMs);
    this.#after = after;
  }

  /** Whether its neighbours were read; a summary has none. */
  get hasNeighbours(): boolean {
    return this.#after !== null || this.facts.kind === "summary";
  }

  /** Numbers of its neighbours that were read. */
  get neighbours(): readonly number[] {
    return [...(this.facts.before ?? []), ...(this.#after ?? [])];
  }

  /** Whether rows may follow it that were not read. */
  get open(): boolean {
    return this.#after !== null && this.facts.kind === "message" && this.#after.length < NEIGHBOURS;
  }

  /** Number of the last row that was read of those from it on. */
  get last(): number {
    return this.#after?.at(-1) ?? this.facts.seq;
  }

  /**
   * Takes note of rows that follow: the first ones after the row that was the last when they were asked for. Another search
   * may have read them, or fewer, meanwhile; each had all up to its last one.
   */
  follow(next: readonly number[]): void {
    if (next.length === 0 || !this.open) return;
    this.#after = [...new Set([...(this.#after ?? []), ...next])].sort((a, b) => a - b).slice(0, NEIGHBOURS);
  }

  /** Base importance of its kind. Lazy: expensive, computed once. */
  get importance(): number {
    this.#importance ??= importanceOf(this.facts.head);
    return this.#importance;
  }

  /** Bytes that it takes in V8's heap, about and rather more: strings by their length, the words by the size of their table. */
  get size(): number {
    const { facts } = this;
    const texts = [facts.id, facts.conversationId, facts.agent, facts.channel, facts.role, facts.speaker, facts.head];
    let bytes = OBJECTS;
    for (const text of texts) bytes += stringBytes(text ?? "");
    for (const lexeme of facts.words.keys()) bytes += stringBytes(lexeme);
    return bytes + tableBytes(facts.words.size);
  }
}

/** The row, its facts, two dates, lists of neighbours, and its places in the maps that find it. */
const OBJECTS = 800;
const STRING_HEADER = 24;
/** A table of a map doubles; each entry takes three words, each two entries a bucket. */
const TABLE_ENTRY = 28;
const LEAST_ENTRIES = 4;

function stringBytes(text: string): number {
  return STRING_HEADER + text.length * (isLatin(text) ? 1 : 2);
}

function tableBytes(entries: number): number {
  let capacity = LEAST_ENTRIES;
  while (capacity < entries) capacity *= 2;
  return capacity * TABLE_ENTRY;
}

/** V8 keeps a string of such characters in one byte each. */
function isLatin(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0xff) return false;
  return true;
}
