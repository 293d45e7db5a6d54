import { createHash } from "node:crypto";
import { createRequire } from "node:module";

/**
 * Counting tokens as the models do (o200k), and filling a budget of them.
 * The tokenizer's table costs some 110 ms and 75 MB resident, so it is loaded by the first count, not at start.
 */

export type CountTokens = (text: string) => number;

/** The part of the tokenizer library that is used. */
interface Encoding {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number;
}

/** Longest run that goes to the tokenizer at once: its time grows with the square of an unbroken run of letters. */
const PIECE = 2_000;

/**
 * The same rows of memory and of a session's history are counted turn after turn: counts of so many texts are kept, of those longer
 * than this by their hashes, which cost a hundredth of counting.
 */
const KEPT = 4_000;
const KEPT_UNITS = 400;

/** A tokenizer that loads its table at its first call. Text that looks like a special token counts as the text it is. */
export function createTokenizer(): CountTokens {
  const require = createRequire(import.meta.url);
  const options = { disallowedSpecial: new Set<string>() };
  const cache = new Map<string, number>();
  let encoding: Encoding | undefined;

  function count(text: string): number {
    // The package declares exactly this function for this entry.
    encoding ??= require("gpt-tokenizer/encoding/o200k_base") as Encoding;
    let tokens = 0;
    for (const piece of pieces(text)) tokens += encoding.countTokens(piece, options);
    return tokens;
  }

  return (text) => {
    if (text === "") return 0;
    const key = text.length > KEPT_UNITS ? createHash("sha256").update(text).digest("base64") : text;
    const before = cache.get(key);
    if (before !== undefined) return before;
    if (cache.size >= KEPT) cache.clear();
    const tokens = count(text);
    cache.set(key, tokens);
    return tokens;
  };
}

/** The text, or its head followed by an ellipsis, so that it costs at most `budget` tokens; empty when nothing fits. */
export function fitText(text: string, budget: number, count: CountTokens): string {
  // A token is at least one byte, and a unit at most three: what is short need not be counted.
  if (text.length * 3 <= budget) return text;
  // A token is at least one byte.
  if (Buffer.byteLength(text) <= budget) return text;
  // No token is longer than 128 units, so that a longer text never fits and need not be counted whole.
  const bounded = text.length > budget * 128 ? text.slice(0, budget * 128) : text;
  if (bounded === text && count(text) <= budget) return text;
  let low = 0;
  let high = bounded.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (count(`${headOf(bounded, middle)}…`) <= budget) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${headOf(bounded, low)}…`;
}

function headOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length).trimEnd();
}

/** Splits before a space where there is one, which is where the tokenizer itself separates words. */
function* pieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > PIECE) {
    const space = text.lastIndexOf(" ", start + PIECE);
    let end = space > start + PIECE / 2 ? space : start + PIECE;
    const unit = text.charCodeAt(end);
    if (unit >= 0xdc00 && unit <= 0xdfff) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}
