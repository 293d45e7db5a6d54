/** What a web server says that an answer is, and whether there is text in it that can be read. Pure. */

export interface MediaType {
  /** `text/html`, small letters; empty where the server does not say. */
  readonly essence: string;
  /** As it was written; null where there is none. */
  readonly charset: string | null;
}

export type PageKind = "html" | "text";

const TOKEN = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;
const CHARSET = /;\s*charset\s*=\s*"?([A-Za-z0-9_:.-]{1,64})"?/i;
const HTML: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);
const TEXTS: ReadonlySet<string> = new Set([
  "application/json",
  "application/ld+json",
  "application/x-ndjson",
  "application/xml",
  "application/javascript",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
]);
const BEGINNING = 1_024;

export function mediaType(header: string): MediaType {
  const essence = (header.split(";", 1)[0] ?? "").trim().toLowerCase();
  return { essence: TOKEN.test(essence) ? essence : "", charset: CHARSET.exec(header)?.[1] ?? null };
}

/** Null for what is no text. Without a type, what begins as HTML is HTML. */
export function pageKind({ essence }: MediaType, beginning: Uint8Array): PageKind | null {
  if (HTML.has(essence)) return "html";
  if (essence.startsWith("text/") || TEXTS.has(essence) || /\+(?:json|xml|yaml)$/.test(essence)) return "text";
  if (essence !== "") return null;
  return /^\s*<(?:!doctype html|html|head|body)\b/i.test(ascii(beginning)) ? "html" : "text";
}

/** The charset that the first bytes of a document name: `<meta charset>`, its older form, or XML's declaration. */
export function declaredCharset(beginning: Uint8Array): string | null {
  const text = ascii(beginning);
  const meta = /<meta\s[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,64})/i.exec(text)?.[1];
  const named = meta ?? /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.-]{1,64})/i.exec(text)?.[1];
  // The bytes were read as ASCII: it cannot be UTF-16.
  return named === undefined ? null : /^utf-?16/i.test(named) ? "utf-8" : named;
}

function ascii(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, BEGINNING)).toString("latin1");
}
