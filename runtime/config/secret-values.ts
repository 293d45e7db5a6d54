/** Which keys hold secrets, and what secrets look like. */
import { hasReference } from "./references.ts";
import type { TreePath } from "./tree.ts";

const SECRET_KEY =
  /(?:^|[_-])(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|token|password|passwd|passphrase|secret|credentials?)$/i;
const SECRET_URL_KEY = /^(?:connection_string|direct_url)$/i;
const SECRET_HEADER = /^(?:authorization|cookie|x-api-key|proxy-authorization)$/i;
const SECRET_VARIABLE = /(?:^|_|API)(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH)$/i;

/** Shapes of well-known secrets, each long enough not to be met in ordinary text. */
export const SECRET_PATTERNS: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\bcairn_[A-Za-z0-9_-]{20,}/,
  /\bxai-[A-Za-z0-9_-]{20,}/,
  /\bgsk_[A-Za-z0-9]{20,}/,
  /\bAIza[A-Za-z0-9_-]{30,}/,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/,
  /\bglpat-[A-Za-z0-9_-]{20,}/,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/,
  /\bxapp-[A-Za-z0-9-]{10,}/,
  /\bAKIA[A-Z0-9]{16}\b/,
  /\b\d{8,10}:[A-Za-z0-9_-]{35}\b/,
  /\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b/,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** The password inside an address, still percent-encoded; null where there is none. */
export function urlPassword(text: string): string | null {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/@:]*:([^\s@/]+)@/i.exec(text)?.[1] ?? null;
}

export function isSecretPath(path: TreePath): boolean {
  const key = path.at(-1);
  if (typeof key !== "string") return false;
  return SECRET_KEY.test(key) || SECRET_URL_KEY.test(key) || SECRET_HEADER.test(key) || isSecretEnvEntry(path, key);
}

/** The shell's own PWD and OLDPWD are directories, not passwords. */
export function isSecretVariable(name: string): boolean {
  return SECRET_VARIABLE.test(name) && !/^(?:OLD)?PWD$/.test(name);
}

export function looksLikeSecret(text: string): boolean {
  return urlPassword(text) !== null || SECRET_PATTERNS.some((pattern) => pattern.test(text));
}

/** True for a text that is a secret or has one in it; `${NAME}` in its place is none. */
export function holdsSecret(text: string): boolean {
  const password = urlPassword(text);
  if (password !== null) return !hasReference(password);
  return !hasReference(text) && looksLikeSecret(text);
}

/** The parts of a value that must not be seen: an address hides its password, anything else itself. */
export function secretsIn(value: string): string[] {
  const password = urlPassword(value);
  if (password === null) return URL.canParse(value) && /^[a-z0-9+.-]+:\/\//i.test(value) ? [] : [value];
  return [...new Set([password, decode(password)])];
}

function isSecretEnvEntry(path: TreePath, key: string): boolean {
  return path.at(-2) === "env" && isSecretVariable(key);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
