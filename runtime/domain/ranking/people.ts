import type { Role } from "../../contracts/message.ts";
import type { RankingCandidate, RankingTerm } from "./input.ts";

/** Who a query asks about, and which candidates are said by them: people tell about themselves. */

export interface Asked {
  /** Whether each candidate is said by somebody who is asked about. */
  readonly said: readonly boolean[];
  /** Whether each candidate's conversation has somebody in it who is asked about. */
  readonly present: readonly boolean[];
}

/** How the two sides of a conversation without names are called. */
const CALLED: readonly { readonly role: Role; readonly words: RegExp }[] = [
  { role: "user", words: /\b(?:I|me|my|mine|myself|(?:the )?user(?:'s)?)\b/i },
  { role: "assistant", words: /\b(?:you|your|yours|yourself|(?:the )?(?:assistant|agent)(?:'s)?)\b/i },
];
const LEAST_LETTERS = 3;

/** Null when nobody is asked about who speaks in a candidate. */
export function askedAbout(query: string, candidates: readonly RankingCandidate[]): Asked | null {
  const words = wordsOf(query);
  const named = new Set<string>();
  for (const { speaker } of candidates) if (speaker !== null && isNamed(speaker, words)) named.add(speaker);
  if (named.size > 0) return spokenBy(candidates, ({ speaker }) => speaker !== null && named.has(speaker));
  const roles = CALLED.filter(({ words }) => words.test(query)).map(({ role }) => role);
  // Who has a name is asked about by the name.
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
 * The terms without the names of those who speak: where each row begins with its speaker, such a word tells who spoke and
 * nothing of what was said.
 */
export function withoutNames(
  terms: readonly RankingTerm[],
  candidates: readonly RankingCandidate[],
): { readonly terms: readonly RankingTerm[]; readonly indexes: readonly number[] } {
  const names = new Set(candidates.flatMap(({ speaker }) => (speaker === null ? [] : partsOf(speaker))));
  const indexes = [...terms.keys()].filter((n) => ![...names].some((name) => isStemOf(terms[n]?.lexeme ?? "", name)));
  // A query of names alone asks for what they said and what was said about them.
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
