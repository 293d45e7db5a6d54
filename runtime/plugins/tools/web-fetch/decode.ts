/** Bytes of a page to text, as the standard of HTML finds the charset. Pure. */

import { declaredCharset, type MediaType, type PageKind } from "../../../domain/web/media-type.ts";

const UTF_16LE = [0xff, 0xfe];
const UTF_16BE = [0xfe, 0xff];
const UTF_8 = [0xef, 0xbb, 0xbf];

/** A byte order mark, the header, the document itself, UTF-8; and Windows-1252 for what is none. Null for binary content. */
export function decodePage(bytes: Uint8Array, { essence, charset }: MediaType, kind: PageKind): string | null {
  // Other text may be about such declarations.
  const declares = kind === "html" || essence.endsWith("xml");
  const label = byteOrderMark(bytes) ?? charset ?? (declares ? declaredCharset(bytes) : null);
  const decoder = label === null ? null : decoderOf(label);
  const text = decoder === null ? utf8(bytes) : decoder.decode(bytes);
  return text.includes("\0") ? null : text;
}

function byteOrderMark(bytes: Uint8Array): string | null {
  const begins = (mark: readonly number[]) => mark.every((byte, index) => bytes[index] === byte);
  if (begins(UTF_8)) return "utf-8";
  return begins(UTF_16LE) ? "utf-16le" : begins(UTF_16BE) ? "utf-16be" : null;
}

/** Null for a charset that does not exist, or that browsers refuse. */
function decoderOf(label: string): { decode(bytes: Uint8Array): string } | null {
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

/** A page that was cut in the middle of a character is UTF-8 all the same. */
function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
