/** Terms of a query that are searched literally rather than by their stem. Pure. */

const MAX_TERMS = 8;

/**
 * Names that a stemmer splits or cannot stem: `node-3`, `v1.2.3`, `a1b2c3d`, paths, camelCase and snake_case.
 * At most 8, in the order of the query.
 */
export function identifiersIn(query: string): string[] {
  return unique(words(query).filter((word) => word.length >= 3 && isIdentifier(word)));
}

/** Words long enough to be recognised when misspelled: at least 4 letters or digits. At most 8, longest first. */
export function spellableWords(query: string): string[] {
  const long = words(query).filter((word) => word.length >= 4);
  return unique(long.sort((a, b) => b.length - a.length));
}

function isIdentifier(word: string): boolean {
  const mixed = /\d/.test(word) && /\p{L}/u.test(word);
  const joined = /[\p{L}\d][-_./:@#][\p{L}\d]/u.test(word);
  const camel = /\p{Ll}\p{Lu}/u.test(word);
  return mixed || camel || (joined && !/^[\p{L}]+-[\p{L}]+$/u.test(word));
}

function words(query: string): string[] {
  return query
    .split(/[\s,;!?"'`()[\]{}<>|=]+/u)
    .map((word) => word.replace(/^[-_.:@#]+|[-_.:@#]+$/gu, ""))
    .filter((word) => word !== "");
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)].slice(0, MAX_TERMS);
}
