/** Keeps the beginning and the end of an output of any length in bounded memory. */

export interface OutputWindow {
  add(chunk: Uint8Array): void;
  /** The text, with a line in the middle that says how much was left out, if anything was. */
  render(): string;
}

/** `maxBytes`: half of them are kept from the beginning, half from the end. */
export function createOutputWindow(maxBytes: number): OutputWindow {
  const half = Math.max(1, Math.floor(maxBytes / 2));
  const head: Buffer[] = [];
  let headBytes = 0;
  let tail = Buffer.alloc(0);
  let total = 0;

  return {
    add(chunk) {
      let rest = Buffer.from(chunk);
      total += rest.length;
      if (headBytes < half) {
        const taken = rest.subarray(0, half - headBytes);
        head.push(taken);
        headBytes += taken.length;
        rest = rest.subarray(taken.length);
      }
      if (rest.length === 0) return;
      // Trimmed only when it has doubled, so that many small chunks do not copy it each time.
      tail = Buffer.concat([tail, rest]);
      if (tail.length > half * 2) tail = Buffer.from(tail.subarray(tail.length - half));
    },
    render() {
      const start = Buffer.concat(head);
      if (total <= half * 2) return Buffer.concat([start, tail]).toString("utf8");
      const first = start.subarray(0, characterStart(start, start.length));
      const end = tail.subarray(Math.max(0, tail.length - half));
      const last = end.subarray(nextCharacter(end));
      const omitted = total - first.length - last.length;
      return `${first.toString("utf8")}\n... (${omitted} bytes of ${total} left out here) ...\n${last.toString("utf8")}`;
    },
  };
}

/** The largest offset up to `limit` that does not cut a UTF-8 sequence. */
function characterStart(bytes: Buffer, limit: number): number {
  for (let back = 1; back <= 4 && back <= limit; back += 1) {
    const byte = bytes[limit - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? limit - back : limit;
  }
  return limit;
}

function nextCharacter(bytes: Buffer): number {
  let offset = 0;
  while (offset < 3 && offset < bytes.length && isContinuation(bytes[offset] ?? 0)) offset += 1;
  return offset;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
