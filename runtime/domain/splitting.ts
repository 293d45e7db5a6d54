/**
 * Splits a text that is longer than a platform takes into messages of at most `limit` UTF-16 code units (specification,
 * "Channel rules"). Nothing is lost or added: the pieces joined are the text.
 */

/** All up to where a piece may end last, best first: between paragraphs, lines, sentences, words. */
const BOUNDARIES: readonly RegExp[] = [
  /^[\s\S]*\n\n+/,
  /^[\s\S]*\n/,
  /^[\s\S]*[.!?\u3002\uff01\uff1f]\s+/,
  /^[\s\S]*\s/,
];
/** A better boundary is taken only when it leaves the piece at least this full. */
const LEAST_FILL = 0.5;

/** `limit` is at least 2, the length of a character outside the basic plane. An empty text has no pieces. */
export function splitText(text: string, limit: number): string[] {
  if (!Number.isInteger(limit) || limit < 2) throw new RangeError(`a limit of ${limit} holds no character`);
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > limit) {
    const end = cutPoint(rest, limit);
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest !== "") pieces.push(rest);
  return pieces;
}

function cutPoint(text: string, limit: number): number {
  const head = text.slice(0, limit);
  for (const boundary of BOUNDARIES) {
    const end = boundary.exec(head)?.[0].length ?? 0;
    if (end >= limit * LEAST_FILL) return end;
  }
  // No boundary: cut between characters, never between the halves of one.
  const splitsPair = /[\ud800-\udbff]$/.test(head) && /^[\udc00-\udfff]/.test(text.slice(limit, limit + 1));
  return splitsPair ? limit - 1 : limit;
}
