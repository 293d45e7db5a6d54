/** Estimates the cost of a JSON text before it is parsed: a few bytes of it can be a value each, and every value costs memory. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Whether a JSON text (UTF-8, valid or not) has more than `most` values, by its commas and opening brackets outside strings. */
export function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values += 1;
      if (values > most) return true;
    }
  }
  return false;
}
