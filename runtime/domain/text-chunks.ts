/** Cuts a long text into parts that fit into an encoder's window, at the best places there are. */

/**
 * In bytes of UTF-8, which follow tokens more closely than characters do across scripts: about 250 tokens, what the
 * smallest of the common encoders reads (256). A part that is too long would be cut by the encoder without a word.
 */
export const CHUNK_BYTES = 1_000;
/** A longer text is represented by its head. */
const MAX_CHUNKS = 256;

/** From best to worst: the end of a paragraph, a line, a sentence, a word. */
const BREAKS = [/\n\s*\n/g, /\n/g, /[.!?。！？]["')\]]*\s|[。！？]/g, /\s/g];
/** A part is not cut shorter than this share of its room for the sake of a better place. */
const LEAST_SHARE = 0.5;

/** Parts with something in them, in order; none for a text of white space. No part exceeds `bytes`, none breaks a character. */
export function chunksOf(text: string, { bytes = CHUNK_BYTES, most = MAX_CHUNKS } = {}): string[] {
  const chunks: string[] = [];
  let start = 0;
  while (start < text.length && chunks.length < most) {
    const end = cutAt(text, start, bytes);
    const chunk = text.slice(start, end).trim();
    if (chunk !== "") chunks.push(chunk);
    start = end;
  }
  return chunks;
}

function cutAt(text: string, start: number, bytes: number): number {
  const end = fitting(text, start, bytes);
  if (end === text.length) return end;
  const window = text.slice(start, end);
  const least = Math.floor(window.length * LEAST_SHARE);
  for (const pattern of BREAKS) {
    let best = 0;
    for (const { index, 0: found } of window.matchAll(pattern)) {
      if (index + found.length > least) best = index + found.length;
    }
    if (best > 0) return start + best;
  }
  return end;
}

/** Where the code points that fit into the room end; at least one, however small the room. */
function fitting(text: string, start: number, bytes: number): number {
  let used = 0;
  let at = start;
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0;
    used += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (used > bytes && at > start) return at;
    at += point > 0xffff ? 2 : 1;
  }
  return at;
}
