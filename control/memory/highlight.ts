/** The words of a query in what it found. */

/** Words that are in every text: to mark them would mark nothing. */
const COMMON = new Set(
  "the and for was were did does what which who whose how when where why with that this are you your our has have had from not but can".split(
    " ",
  ),
);
const SHORTEST = 3;
const ENDINGS = ["ing", "ed", "es", "s"];

/**
 * Matches the words of the query and those that begin with them, in any case; the endings of English plurals and verbs make no
 * difference. Null where the query has no word that could be marked. A regular expression that this engine cannot read has none.
 */
export function matcherOf(query: string, mode: string): RegExp | null {
  if (mode === "regex") return expressionOf(query);
  const words = (query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter(
    (word) => word.length >= SHORTEST && !COMMON.has(word),
  );
  if (words.length === 0) return null;
  const stems = [...new Set(words.map(stemOf))].sort((a, b) => b.length - a.length);
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.join("|")})[\\p{L}\\p{N}]*`, "giu");
}

/** The text with each match as `mark` shows it. */
export function highlighted(text: string, matcher: RegExp | null, mark: (found: string) => string): string {
  return matcher === null ? text : text.replace(matcher, (found) => (found === "" ? "" : mark(found)));
}

/** Where the first match begins; 0 where there is none. */
export function firstMatch(text: string, matcher: RegExp | null): number {
  return matcher === null ? 0 : Math.max(0, text.search(matcher));
}

function stemOf(word: string): string {
  for (const ending of ENDINGS) {
    const stem = word.slice(0, -ending.length);
    if (word.endsWith(ending) && stem.length >= SHORTEST) return stem;
  }
  return word;
}

function expressionOf(query: string): RegExp | null {
  try {
    return new RegExp(query, "giu");
  } catch {
    return null;
  }
}
