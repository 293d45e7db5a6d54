/** Takes secrets out of what is shown: what the engine marks as secret, and the configuration's own secrets. */

export const REDACTED = "[redacted]";

/** What the engine writes instead of a secret. */
const ENGINE_SECRET = "[secret]";
/** What the engine writes instead of a value that is known only after the change. */
const ENGINE_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
export const COMPUTED = "[computed]";

/** Shorter values would redact half of every text, and are no secrets. */
const SHORTEST_SECRET = 6;

export type Redact = (value: unknown) => unknown;

/** A function that copies a JSON value with every secret in it replaced; property names are kept. */
export function redactor(secrets: readonly string[]): Redact {
  const values = redactable(secrets);
  const redact: Redact = (value) => {
    if (typeof value === "string") return redactText(value, values);
    if (Array.isArray(value)) return value.map(redact);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redact(inner)]));
  };
  return redact;
}

/** The longest first: one secret may contain another. */
export function redactable(secrets: readonly string[]): string[] {
  const values = [...new Set(secrets)].filter((secret) => secret.length >= SHORTEST_SECRET);
  return values.sort((a, b) => b.length - a.length);
}

/** `secrets`: of `redactable`. */
export function redactText(text: string, secrets: readonly string[]): string {
  if (text === ENGINE_SECRET) return REDACTED;
  if (text === ENGINE_UNKNOWN) return COMPUTED;
  let clean = text.replaceAll(ENGINE_SECRET, REDACTED);
  for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED);
  return clean;
}
