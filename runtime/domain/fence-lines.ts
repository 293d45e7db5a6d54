/**
 * Lines of Markdown that can begin or end a code block, also in a block quote, as CommonMark has them: the words behind backticks have
 * no backtick, else the line is inline code. Those of items of lists count where they are indented by at most three spaces. Pure.
 */

export interface FenceLine {
  /** Where the line begins. */
  readonly index: number;
  readonly line: string;
  /** Of a block quote, such as `>`; empty outside of one. */
  readonly quote: string;
  /** The backticks or tildes. */
  readonly marker: string;
  /** What is behind them: the language. */
  readonly info: string;
}

/** Spaces in front of a mark and never behind it, so that each is matched in one way alone. */
const FENCE = /^(?:((?: {0,3}>)+) {0,4}| {0,3})(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)/gm;
const QUOTED = /^ {0,3}>/;

export function* fenceLines(text: string): Generator<FenceLine> {
  for (const { 0: line, 1: quote = "", 2: marker = "", 3: info = "", index } of text.matchAll(FENCE)) {
    yield { index, line, quote: quote.replaceAll(" ", ""), marker, info };
  }
}

/** Whether it ends the block that `open` has begun. */
export function closes(fence: FenceLine, open: FenceLine): boolean {
  return fence.quote === open.quote && fence.marker.startsWith(open.marker) && fence.info.trim() === "";
}

/** Whether a line is within the block quote, if there is one, that the block was begun in: a block ends with its quote. */
export function staysIn(line: string, { quote }: FenceLine): boolean {
  return quote === "" || QUOTED.test(line);
}
