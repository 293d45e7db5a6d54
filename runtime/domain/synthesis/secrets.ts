/** Takes out of a tool call what its names and syntax mark as secret, before any of it is cut or shown to a model. */

const REDACTED = "[redacted]";
const WORDS =
  "api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|token|pass(?:word|wd|phrase)|secret|credentials?";
const FIELD = new RegExp(`(?:^|[^a-z0-9])(?:${WORDS}|authorization|cookie)$`);
/** `DB_PASSWORD=...`, `password: ...`, `"token":"..."`, also escaped; the value ends where a word ends. */
const ASSIGNED = new RegExp(`((?:${WORDS})\\\\?["']?\\s{0,3}[=:]\\s{0,3}\\\\?["']?)[^\\s"'\\\\,;&|<>()]{4,}`, "gi");
/** `--token ...`; what follows `--token` and is an option itself is none. */
const OPTION = new RegExp(`(--(?:[a-z0-9]+-){0,4}(?:${WORDS})[ \\t]+["']?)(?!-)[^\\s"']{4,}`, "gi");
/** `-u ada:...` of curl and its like. */
const LOGIN = /(\s(?:-u|--user)[ =]["']?[^\s:"']{1,80}:)[^\s"']{3,}/g;
const HEADER = /((?:authorization|cookie)\\?["']?\s{0,3}:\s{0,3}\\?["']?)[^"'\r\n\\]{4,}/gi;
/** What is nested deeper is not searched, and is not shown to a model. */
const DEEPEST = 32;

/** `redact` takes out what is known to be secret, or has its shape. */
export function hideInText(text: string, redact: (text: string) => string): string {
  return redact(text)
    .replace(HEADER, `$1${REDACTED}`)
    .replace(ASSIGNED, `$1${REDACTED}`)
    .replace(OPTION, `$1${REDACTED}`)
    .replace(LOGIN, `$1${REDACTED}`);
}

/** The value without the content of fields that are named like a secret, and with every text as hideInText leaves it. */
export function hideInValue(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return hideInText(value, redact);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return "[...]";
  if (Array.isArray(value)) {
    const [name, ...rest] = value;
    // A header or variable as a pair.
    if (rest.length === 1 && isSecretName(name)) return [name, hidden(rest[0])];
    return value.map((item) => hideInValue(item, redact, depth + 1));
  }
  const entries = Object.entries(value);
  const isNamed = entries.some(([key, item]) => /^(?:name|key|header|variable)$/i.test(key) && isSecretName(item));
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      isSecretName(key) || (isNamed && /^value$/i.test(key)) ? hidden(item) : hideInValue(item, redact, depth + 1),
    ]),
  );
}

/** `accessToken`, `access_token`, `x-api-key`, `DB_PASSWORD`; `tokens` and `max_tokens` are counts. */
function isSecretName(name: unknown): boolean {
  return typeof name === "string" && FIELD.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}

function hidden(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" || value === null ? value : REDACTED;
}
