/** Bytes to text and back without loss: the encoding and the byte order mark of a file are kept as they were found. */

export type Encoding = "utf-8" | "utf-16le" | "latin1";

export interface TextFormat {
  readonly encoding: Encoding;
  readonly bom: boolean;
}

export interface DecodedText extends TextFormat {
  readonly text: string;
}

const BINARY_PROBE_BYTES = 8_192;

/** Null for binary content: a NUL byte near the start, unless a byte order mark says UTF-16. */
export function decodeText(bytes: Uint8Array): DecodedText | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe && bytes.length % 2 === 0) {
    return { encoding: "utf-16le", bom: true, text: Buffer.from(bytes.subarray(2)).toString("utf16le") };
  }
  if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) return null;
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const body = bom ? bytes.subarray(3) : bytes;
  try {
    return { encoding: "utf-8", bom, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    // Every byte is a character in Latin-1, so that an old text file can be read and edited without touching the rest.
    return { encoding: "latin1", bom: false, text: Buffer.from(bytes).toString("latin1") };
  }
}

/** Null when the encoding cannot hold the text (a character above U+00FF in Latin-1). */
export function encodeText(text: string, format: TextFormat): Uint8Array | null {
  if (format.encoding === "utf-8") return Buffer.from(format.bom ? `\ufeff${text}` : text, "utf8");
  if (format.encoding === "utf-16le") return Buffer.from(`\ufeff${text}`, "utf16le");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is the whole of Latin-1, control characters included.
  return /^[\u0000-\u00ff]*$/.test(text) ? Buffer.from(text, "latin1") : null;
}

/** The line ending of a text that uses one throughout; null for a mixture, or for a text of one line. */
export function lineEnding(text: string): "\n" | "\r\n" | null {
  const all = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  if (all === 0) return null;
  if (windows === all) return "\r\n";
  return windows === 0 ? "\n" : null;
}
