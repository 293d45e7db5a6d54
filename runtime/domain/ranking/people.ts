import type { Role } from "../../contracts/message.ts";
import type { RankingCandidate, RankingTerm } from "./input.ts";

/** The people whom a query names, and the candidates that they wrote: people write about themselves. */

export interface Asked {
  /** Whether each candidate's speaker is named in the query. */
  readonly said: readonly boolean[];
  /** Whether each candidate's conversation has a speaker who is named in the query. */
  readonly present: readonly boolean[];
}

/** How the two sides of a conversation without names are called. */
const CALLED: readonly { readonly role: Role; readonly words: RegExp }[] = [
  { role: "user", words: /\b(?:I|me|my|mine|myself|(?:the )?user(?:'s)?)\b/i },
  { role: "assistant", words: /\b(?:you|your|yours|yourself|(?:the )?(?:assistant|agent)(?:'s)?)\b/i },
];
const LEAST_LETTERS = 3;

/** Null when the query names no speaker of a candidate. */
export function askedAbout(query: string, candidates: readonly RankingCandidate[]): Asked | null {
  const words = wordsOf(query);
  const named = new Set<string>();
  for (const { speaker } of candidates) if (speaker !== null && isNamed(speaker, words)) named.add(speaker);
  if (named.size > 0) return spokenBy(candidates, ({ speaker }) => speaker !== null && named.has(speaker));
  const roles = CALLED.filter(({ words }) => words.test(query)).map(({ role }) => role);
  // A speaker with a name is named in a query by it.
  const isCalled = ({ speaker, role }: RankingCandidate) => speaker === null && role !== null && roles.includes(role);
  return candidates.some(isCalled) ? spokenBy(candidates, isCalled) : null;
}

function spokenBy(candidates: readonly RankingCandidate[], isAsked: (candidate: RankingCandidate) => boolean): Asked {
  const said = candidates.map(isAsked);
  const conversations = new Set(candidates.flatMap((one, n) => (said[n] === true ? [one.conversationId] : [])));
  return {
    said,
    present: candidates.map(({ conversationId }) => conversationId !== null && conversations.has(conversationId)),
  };
}

/**
 * The terms without the names of speakers: where each row begins with its speaker, such a word gives the speaker and
 * nothing of the content.
 */
export function withoutNames(
  terms: readonly RankingTerm[],
  candidates: readonly RankingCandidate[],
): { readonly terms: readonly RankingTerm[]; readonly indexes: readonly number[] } {
  const names = new Set(candidates.flatMap(({ speaker }) => (speaker === null ? [] : partsOf(speaker))));
  const indexes = [...terms.keys()].filter((n) => ![...names].some((name) => isStemOf(terms[n]?.lexeme ?? "", name)));
  // A query of names only is about their messages and messages about them.
  if (indexes.length === 0) return { terms, indexes: [...terms.keys()] };
  return { terms: indexes.flatMap((n) => terms[n] ?? []), indexes };
}

function isNamed(speaker: string, words: readonly string[]): boolean {
  return partsOf(speaker).some((part) =>
    words.some((word) => word.toLowerCase() === part || (isShortForm(word) && part.startsWith(word.toLowerCase()))),
  );
}

/** `Mel` for Melanie. */
function isShortForm(word: string): boolean {
  return word.length >= LEAST_LETTERS && /^\p{Lu}\p{Ll}+$/u.test(word);
}

function partsOf(speaker: string): string[] {
  return speaker
    .toLowerCase()
    .split(/[\s.]+/)
    .filter((part) => part.length >= LEAST_LETTERS);
}

function wordsOf(query: string): string[] {
  return query
    .split(/[^\p{L}\p{N}'’-]+/u)
    .map((word) => word.replace(/['’]s?$/u, ""))
    .filter((word) => word !== "");
}

/** Snowball's English stems are heads of their words, but for a last `y`, which becomes `i`. */
function isStemOf(lexeme: string, word: string): boolean {
  if (lexeme.length < LEAST_LETTERS || word.length - lexeme.length > 3) return false;
  return word.startsWith(lexeme) || (lexeme.endsWith("i") && word === `${lexeme.slice(0, -1)}y`);
}
