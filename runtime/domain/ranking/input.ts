import type { Role } from "../../contracts/message.ts";

/**
 * What the ranking of a search is computed from: features of a bounded set of rows, in any order. The statement that finds
 * the candidates fills it; nothing in it needs another query.
 */

export interface RankingInput<Candidate extends RankingCandidate = RankingCandidate> {
  /** Empty when words do not count: `vector` mode, or a query of stop words. */
  readonly terms: readonly RankingTerm[];
  /** Mean length of the rows of each kind that `length` is compared with, in the same unit; above 0. */
  readonly averageLength: Readonly<Record<"message" | "summary", number>>;
  /** The query's own text, for the kind of its answer: who, when, how many. */
  readonly query: string;
  readonly now: Date;
  /** Found rows, and rows that are only there as neighbours of found ones. */
  readonly candidates: readonly Candidate[];
}

/** A stem of the query. */
export interface RankingTerm {
  readonly lexeme: string;
  /** Inverse document frequency, `ln(1 + (n - df + 0.5) / (df + 0.5))`, n and df of the whole store; above 0. */
  readonly idf: number;
}

export interface RankingCandidate {
  readonly kind: "message" | "summary";
  readonly id: string;
  /** Rows of one conversation can be neighbours; null has none. */
  readonly conversationId: string | null;
  /** Order of insertion (`seq`) among the messages: ascends in a conversation, but not by one. */
  readonly position: number;
  /** Only there as a neighbour of a found row: it lends its words and can be a hit itself. */
  readonly neighbour: boolean;
  /** Whether the two rows on each side of it in its conversation are candidates, too, as far as there are any. */
  readonly surrounded: boolean;
  readonly agent: string | null;
  readonly role: Role | null;
  /** The speaker, where the row has one: a name in the metadata, or one that the content begins with. */
  readonly speaker: string | null;
  /** Time of its content: of a summary, the newest message that it covers. */
  readonly happenedAt: Date;
  /** Lexemes in the row, each counted once, as `length(tsvector)` does. */
  readonly length: number;
  /** How often each of the query's terms occurs in the row, in the order of the terms. */
  readonly frequencies: readonly number[];
  /** Similarity of the query's identifiers to the row, 0 to 1; 0 when there are none. */
  readonly similarity: number;
  /** Cosine of the row's own vector and the query's, -1 to 1; null without either. */
  readonly cosine: number | null;
  readonly lastAccessedAt: Date | null;
  readonly accessCount: number;
  /** Base importance of its kind, 0 to 1. */
  readonly importance: number;
  /** The first part of the content, a few hundred units, for its form: a question, a date, a number. */
  readonly head: string;
}
