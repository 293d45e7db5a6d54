/** Values as the audit log keeps them: without secrets, and of sensible size. Pure. */

const MAX_CHARS = 4_000;
const MAX_ITEMS = 50;
const MAX_DEPTH = 6;
/** Fields that hold a secret whatever it looks like. */
const SECRET_FIELD = /pass(word|phrase)?$|secret|token$|api_?key|authorization|credential|private_?key|cookie/i;

/** A copy: texts redacted first and cut after, so that no part of a secret is left; long lists and deep values cut. */
export function auditable(value: unknown, redact: (text: string) => string, maxChars = MAX_CHARS, depth = 0): unknown {
  if (typeof value === "string") return shorten(redact(value), maxChars);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "...";
  if (Array.isArray(value)) {
    const kept = value.slice(0, MAX_ITEMS).map((item) => auditable(item, redact, maxChars, depth + 1));
    return value.length > MAX_ITEMS ? [...kept, `... (${value.length - MAX_ITEMS} more)`] : kept;
  }
  const entries = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    entries.map(([name, child]) => [
      name,
      SECRET_FIELD.test(name) && typeof child === "string" && child !== ""
        ? "[redacted]"
        : auditable(child, redact, maxChars, depth + 1),
    ]),
  );
}

function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars).toWellFormed()}... (${text.length - maxChars} more characters)`;
}
