/** Which paths hold secrets by convention. Pure; a glob counts when it was evidently written to match one of them. */

import { posix } from "node:path";
import { SECRET_FILE_NAMES } from "../../contracts/secret-files.ts";
import { matchesGlob } from "./glob.ts";
import { HOME, MAX_PATH_CHARS } from "./state.ts";

/** `.env.production` holds secrets, `.env.example` is made to be read. */
const ENVIRONMENT_FILE =
  /^\.env\.(?!(example|sample|template|dist|defaults?|schema|test|md|ts|d\.ts|[cm]?js|py|go|rs)$)[\w.-]+$/;
const SECRET_PLACES: readonly RegExp[] = [
  /(^|\/)\.ssh\/(?!known_hosts|config$|.*\.pub$).+/,
  /(^|\/)\.aws\/credentials$/,
  /(^|\/)\.docker\/config\.json$/,
  /(^|\/)\.kube\/config$/,
  /(^|\/)\.gnupg\/.+/,
  /(^|\/)\.config\/(gh\/hosts\.yml|gcloud\/.*(credentials|\.json).*|op\/.*)$/,
  new RegExp(`^${HOME}/\\.npmrc$`),
  /^\/etc\/(g?shadow|sudoers)/,
  /^\/etc\/ssl\/private\/.+/,
  /^\/proc\/.+\/(environ|mem)$/,
  /^\/run\/secrets\/.+/,
  /^\/dev\/mem$/,
];

/** `path` as written in a command; relative ones are checked by their name only. */
export function isSecretPath(path: string): boolean {
  if (path.length > MAX_PATH_CHARS) return false;
  const normal = posix.normalize(path);
  if (SECRET_PLACES.some((place) => place.test(normal))) return true;
  const name = posix.basename(normal).toLowerCase();
  if (SECRET_FILE_NAMES.includes(name) || ENVIRONMENT_FILE.test(name)) return true;
  return isSpecific(name) && SECRET_FILE_NAMES.some((secret) => matchesGlob(name, secret));
}

/** `*` matches anything and shows no intent; `.e*` and `id_*` were written for something. */
function isSpecific(glob: string): boolean {
  const literal = glob.split(/[*?[]/)[0] ?? "";
  return literal !== glob && (literal.startsWith(".") || literal.length >= 3);
}
