/** The whole lines of a file from a place on, in bounded memory. */

import { open } from "node:fs/promises";

export interface ParsedLine {
  /** From 1. */
  readonly number: number;
  /** Bytes up to the end of this line. */
  readonly end: number;
  /** The parsed line; undefined for one that is no JSON, or longer than a message may be. */
  readonly value: unknown;
}

/** The content of one line is sent in one request at most. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** A last line without its end is still being written: it is left for the next time. */
export async function* linesFrom(path: string, offset: number, line: number): AsyncGenerator<ParsedLine> {
  const file = await open(path, "r");
  let parts: Buffer[] = [];
  let bytes = 0;
  let end = offset;
  let number = line;
  const stream = file.createReadStream({ start: offset, highWaterMark: 256 * 1024 });
  for await (const chunk of stream) {
    // Without an encoding it is bytes.
    let rest = chunk as Buffer;
    for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
      parts.push(rest.subarray(0, at));
      bytes += at;
      number += 1;
      end += bytes + 1;
      yield { number, end, value: bytes > MAX_LINE_BYTES ? undefined : parse(Buffer.concat(parts)) };
      parts = [];
      bytes = 0;
      rest = rest.subarray(at + 1);
    }
    bytes += rest.length;
    if (bytes > MAX_LINE_BYTES) parts = [];
    else if (rest.length > 0) parts.push(rest);
  }
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
