/** Keeps secrets out of logs and error texts: by value, by shape, and by the name of the field. */
import { SECRET_PATTERNS } from "./secret-values.ts";

export const REDACTED = "[redacted]";

/** A shorter value cannot be distinguished from ordinary text. */
const SHORTEST = 6;
/** In what a model is sent, a password such as `postgres` would be taken out of every sentence about the database. */
const SHORTEST_FOR_MODELS = 12;
/** The scheme has a bound: without one a long run of letters takes time by the square of its length. */
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/[^\s/@:"']*):[^\s@/"']+@/gi;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;
/** The whole key, also where its end was cut off, its lines are escaped (`\n`), or headers precede it. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?:\s|\\[rn])*[A-Za-z-]{1,40}: [^\n\\]{1,200})*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g;

export type Redactor = (text: string) => string;

/**
 * A function that replaces every given secret in a text, also where it is percent-encoded or escaped in JSON, and
 * everything that has the shape of a well-known key, a bearer token or an address with a password.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const exact = valueRedactor(secrets, SHORTEST);
  const shapes = SECRET_PATTERNS.map((pattern) => new RegExp(pattern.source, "g"));

  return (text) => {
    const withoutValues = exact(text).replace(PRIVATE_KEY, REDACTED);
    const shaped = shapes.reduce((current, shape) => current.replace(shape, REDACTED), withoutValues);
    return shaped.replace(URL_CREDENTIALS, `$1:${REDACTED}@`).replace(BEARER, `$1 ${REDACTED}`);
  };
}

/**
 * A function that replaces the given secrets alone, in the same three forms, and recognises no shapes: what a model is sent may hold
 * keys that are the user's own business. It reads a text once, however many secrets there are.
 */
function createValueRedactor(secrets: Iterable<string>): Redactor {
  return valueRedactor(secrets, SHORTEST_FOR_MODELS);
}

/** Redactors that learn: tokens of a login change while the process runs. */
export function createLearningRedactor(secrets: readonly string[]): {
  /** For logs and errors. */
  readonly redact: Redactor;
  /** For what models are sent. */
  readonly redactValues: Redactor;
  /** From now on these are secrets, too. */
  readonly hide: (more: readonly string[]) => void;
} {
  let secretValues = new Set(secrets);
  let current = createRedactor(secretValues);
  let values = createValueRedactor(secretValues);
  return {
    redact: (text) => current(text),
    redactValues: (text) => values(text),
    hide(more) {
      if (more.every((secret) => secretValues.has(secret))) return;
      secretValues = new Set([...secretValues, ...more]);
      current = createRedactor(secretValues);
      values = createValueRedactor(secretValues);
    },
  };
}

function valueRedactor(secrets: Iterable<string>, shortest: number): Redactor {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < shortest) continue;
    for (const form of [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)])
      forms.add(form);
  }
  if (forms.size === 0) return (text) => text;
  // The longest first: a secret that contains another one must not leave its rest behind.
  const values = [...forms].sort((a, b) => b.length - a.length).map((form) => escapePattern(form));
  const exact = new RegExp(values.join("|"), "g");
  return (text) => text.replace(exact, REDACTED);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** Field names whose values pino never writes, at the top of a record and up to two levels down. */
export const REDACT_PATHS: readonly string[] = [
  "api_key",
  "apiKey",
  "token",
  "access_token",
  "refresh_token",
  "password",
  "passphrase",
  "secret",
  "authorization",
  "Authorization",
  "cookie",
  "connection_string",
  "connectionString",
  "direct_url",
  "directUrl",
]
  .flatMap((field) => [field, `*.${field}`, `*.*.${field}`])
  .concat(['headers["x-api-key"]', '*.headers["x-api-key"]', 'headers["set-cookie"]', '*.headers["set-cookie"]']);
