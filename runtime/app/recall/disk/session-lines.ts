/** Single lines of a session file of any size, in bounded memory. */

import { openRegular, UnreadablePointer } from "./session-files.ts";

/** A line holds one message; images and outputs make it large, but not larger than this. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The lines `first` to `last` (from 1, both included), parsed; lines that are no JSON are left out. */
export async function readLines(path: string, first: number, last: number, signal?: AbortSignal): Promise<unknown[]> {
  const file = await openRegular(path);
  const lines: unknown[] = [];
  let parts: Buffer[] = [];
  let bytes = 0;
  let number = 1;
  const end = () => {
    if (number >= first) {
      const value = parse(Buffer.concat(parts));
      if (value !== undefined) lines.push(value);
    }
    parts = [];
    bytes = 0;
    number += 1;
  };
  const take = (part: Buffer) => {
    if (number < first) return;
    bytes += part.length;
    if (bytes > MAX_LINE_BYTES) throw new UnreadablePointer("the line in the session file is too long");
    parts.push(part);
  };
  // Closes the file at its end, also when the loop is left early.
  for await (const chunk of file.createReadStream({ highWaterMark: 1024 * 1024, ...(signal ? { signal } : {}) })) {
    // Without an encoding it is bytes.
    let rest = chunk as Buffer;
    for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
      take(rest.subarray(0, at));
      end();
      if (number > last) return lines;
      rest = rest.subarray(at + 1);
    }
    take(rest);
  }
  // The last line may still be without its end.
  if (bytes > 0) end();
  if (number <= last) throw new UnreadablePointer("the session file has no such line any more");
  return lines;
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
