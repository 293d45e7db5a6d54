import type { SummaryKind } from "../../../contracts/records.ts";
import { importanceOf } from "../../../domain/importance.ts";
import type { RankingCandidate } from "../../../domain/ranking/input.ts";

/**
 * The features of a row that never change: rows of the transcript and summaries are never changed. How
 * often a row was handed out, its neighbours, and whether it has a vector yet are read by the statements that find rows.
 */

export interface RowFacts
  extends Pick<
    RankingCandidate,
    "kind" | "id" | "conversationId" | "position" | "agent" | "role" | "speaker" | "happenedAt" | "length"
  > {
  readonly channel: string | null;
  readonly createdAt: Date;
  /** Of a summary. */
  readonly depth: number | null;
  readonly summaryKind: SummaryKind | null;
  /** The first part of the content, `CONTENT_CHARACTERS` of it. */
  readonly content: string;
  /** Whether `content` is all of it. */
  readonly whole: boolean;
}

/** More than most messages have: what is longer is read as a whole when it is in an answer. */
export const CONTENT_CHARACTERS = 4_000;
/** Features of the form of a content: whether it asks, and its role. */
const HEAD_CHARACTERS = 400;

export class CachedRow {
  readonly facts: RowFacts;
  /** How often each of its lexemes occurs; of a row that is too long to be cached, only those of the query. */
  readonly words: ReadonlyMap<string, number>;
  readonly head: string;
  #importance: number | undefined;

  constructor(facts: RowFacts, words: ReadonlyMap<string, number>) {
    this.facts = facts;
    this.words = words;
    this.head = firstCharacters(facts.content, HEAD_CHARACTERS);
  }

  /** Base importance of its kind. Lazy: expensive, computed once. */
  get importance(): number {
    this.#importance ??= importanceOf(this.head);
    return this.#importance;
  }

  /** Bytes that it takes in V8's heap, about and rather more: strings by their length, the words by the size of their table. */
  get size(): number {
    const { facts, words, head } = this;
    const texts = [
      facts.id,
      facts.conversationId,
      facts.agent,
      facts.channel,
      facts.role,
      facts.speaker,
      facts.content,
    ];
    let bytes = OBJECTS + (head === facts.content ? 0 : stringBytes(head));
    for (const text of texts) bytes += stringBytes(text ?? "");
    for (const lexeme of words.keys()) bytes += stringBytes(lexeme);
    return bytes + tableBytes(words.size);
  }
}

/** In code points, as the database counts. */
function firstCharacters(text: string, count: number): string {
  return text.length <= count
    ? text
    : Array.from(text.slice(0, 2 * count))
        .slice(0, count)
        .join("");
}

/** The row, its facts, two dates, and its place in the cache. */
const OBJECTS = 700;
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
