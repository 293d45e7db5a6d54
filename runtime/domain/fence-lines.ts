/**
 * Code blocks of Markdown between fences, also in block quotes, as CommonMark has them: the words behind backticks have no backtick, else
 * the line is inline code. Those of items of lists count where they are indented by at most three spaces. Pure.
 */

/** A line that can begin or end a code block. */
export interface FenceLine {
  readonly line: string;
  /** Of a block quote, such as `>`; empty outside of one. */
  readonly quote: string;
  /** The backticks or tildes. */
  readonly marker: string;
  /** What is behind them: the language. */
  readonly info: string;
}

export interface CodeBlock {
  readonly opening: FenceLine;
  /** Where its opening line begins. */
  readonly begin: number;
  /** Behind its closing line, or where its quote has ended; infinite: it goes on to the end of the text. */
  readonly end: number;
}

/** Spaces in front of a mark and never behind it, so that each is matched in one way alone. */
const FENCE = /^(?:( {0,3}>(?: {0,4}>)*) {0,4}| {0,3})(`{3,}(?=[^`]*$)|~{3,})([^\n]*)/;
const QUOTE = /^ {0,3}>(?: {0,4}>)*/;

/** `line` has no line break. Undefined: it is no such line. */
export function fenceLine(line: string): FenceLine | undefined {
  // Most lines are none, and this is quicker to find out.
  if (!line.includes("```") && !line.includes("~~~")) return undefined;
  const [, quote = "", marker, info = ""] = FENCE.exec(line) ?? [];
  return marker === undefined ? undefined : { line, quote: quote.replaceAll(" ", ""), marker, info };
}

/** Whether it ends the block that `open` has begun. */
export function closes(fence: FenceLine, open: FenceLine): boolean {
  return fence.quote === open.quote && fence.marker.startsWith(open.marker) && fence.info.trim() === "";
}

/** Whether a line is within the block quote, if there is one, that the block was begun in: a block ends with its quote. */
export function staysIn(line: string, { quote }: FenceLine): boolean {
  if (quote === "") return true;
  const [marks = ""] = QUOTE.exec(line) ?? [];
  return marks.replaceAll(" ", "").length >= quote.length;
}

/** In their order. */
export function* codeBlocks(text: string): Generator<CodeBlock> {
  let open: Pick<CodeBlock, "opening" | "begin"> | null = null;
  let next = 0;
  for (let begin = 0; begin < text.length; begin = next) {
    const lineBreak = text.indexOf("\n", begin);
    const end = lineBreak === -1 ? text.length : lineBreak;
    next = end + 1;
    const line = text.slice(begin, end);
    if (open !== null && !staysIn(line, open.opening)) {
      yield { ...open, end: begin };
      open = null;
    }
    const fence = fenceLine(line);
    if (fence === undefined) continue;
    if (open === null) open = { opening: fence, begin };
    else if (closes(fence, open.opening)) {
      yield { ...open, end };
      open = null;
    }
  }
  if (open !== null) yield { ...open, end: Number.POSITIVE_INFINITY };
}
