/**
 * How often each lexeme occurs in a text, from PostgreSQL's text form of its tsvector: `'ada':1,7 'it''s':3B`. Lexemes
 * without positions count once.
 */
export function lexemeCounts(tsvector: string): Map<string, number> {
  const counts = new Map<string, number>();
  let at = 0;
  while (at < tsvector.length) {
    const start = tsvector.indexOf("'", at) + 1;
    if (start === 0) break;
    let end = tsvector.indexOf("'", start);
    let quoted = false;
    // A quote within a lexeme is doubled.
    while (end !== -1 && tsvector.charCodeAt(end + 1) === QUOTE) {
      quoted = true;
      end = tsvector.indexOf("'", end + 2);
    }
    if (end === -1) break;
    const lexeme = tsvector.slice(start, end);
    at = end + 1;
    let count = 1;
    for (; at < tsvector.length && tsvector.charCodeAt(at) !== SPACE; at += 1) {
      if (tsvector.charCodeAt(at) === COMMA) count += 1;
    }
    counts.set(plain(lexeme, quoted), count);
  }
  return counts;
}

const QUOTE = 39;
const COMMA = 44;
const SPACE = 32;

/** V8 makes a longer part of a string a view of it, which keeps all of it for as long as the part is kept. */
const LONGEST_COPIED = 12;

function plain(lexeme: string, quoted: boolean): string {
  const unquoted = quoted ? lexeme.replaceAll("''", "'") : lexeme;
  const meant = unquoted.includes("\\") ? unquoted.replaceAll("\\\\", "\\") : unquoted;
  return meant.length > LONGEST_COPIED ? Buffer.from(meant).toString() : meant;
}
