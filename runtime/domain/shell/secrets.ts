/** Which paths hold secrets by convention. Pure; a glob counts when it was evidently written to match one of them. */

import { posix } from "node:path";
import { SECRET_FILE_NAMES } from "../../contracts/secret-files.ts";
import { isGlob, matchesGlob, WILD } from "./glob.ts";
import { COMPUTED, HOME, MAX_PATH_CHARS } from "./values.ts";

/** `.env.production` holds secrets, `.env.example` is made to be read. */
const ENVIRONMENT_FILE =
  /^\.env\.(?!(example|sample|template|dist|defaults?|schema|test|md|ts|d\.ts|[cm]?js|py|go|rs)$)[\w.-]+$/;
const SECRET_PLACES: readonly RegExp[] = [
  /(^|\/)\.ssh(\/(?!known_hosts|config$|.*\.pub$).*)?$/,
  /(^|\/)\.aws\/credentials$/,
  /(^|\/)\.docker\/config\.json$/,
  /(^|\/)\.kube\/config$/,
  /(^|\/)\.gnupg(\/|$)/,
  /(^|\/)\.config\/(gh\/hosts\.yml|gcloud\/.*(credentials|\.json).*|op\/.*)$/,
  new RegExp(`^${HOME}/\\.npmrc$`),
  /^\/etc\/(g?shadow|sudoers)/,
  /^\/etc\/ssl\/private\/.+/,
  /^\/proc\/.+\/(environ|mem|root\/.+)$/,
  /^\/(var\/)?run\/secrets\/.+/,
  /^\/dev\/mem$/,
];
/** A glob for an absolute path that matches one of these may be meant for it. */
const EXAMPLES = [
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/sudoers",
  "/proc/self/environ",
  "/proc/1/environ",
  ...[".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".npmrc", ".netrc"].map((path) => `${HOME}/${path}`),
];

/** `path` as written in a command; relative ones are checked by their name only. */
export function isSecretPath(path: string): boolean {
  if (path.length > MAX_PATH_CHARS) return false;
  const normal = posix.normalize(path);
  if (SECRET_PLACES.some((place) => place.test(normal))) return true;
  const name = posix.basename(normal).toLowerCase().replace(/~$/, "");
  if (SECRET_FILE_NAMES.includes(name) || ENVIRONMENT_FILE.test(name)) return true;
  return isSpecific(name) && SECRET_FILE_NAMES.some((secret) => matchesGlob(name, secret));
}

/** Whether an absolute path may name a secret: by a glob, or in a directory that is computed. */
export function mayBeSecret(path: string): boolean {
  if (path.length > MAX_PATH_CHARS) return false;
  if (path.startsWith(COMPUTED)) return EXAMPLES.some((secret) => posix.basename(secret) === posix.basename(path));
  if (!path.startsWith("/") || !isGlob(path)) return false;
  // A star of the shell does not match a slash.
  const depth = path.split("/").length;
  return EXAMPLES.some((secret) => secret.split("/").length === depth && matchesGlob(path, secret));
}

/** `*` matches anything and shows no intent; `.e*`, `id_*` and `?d_rsa` were written for something. */
function isSpecific(glob: string): boolean {
  if (!isGlob(glob)) return false;
  const [first = "", ...rest] = glob.split(WILD);
  return first.startsWith(".") || first.length >= 3 || first.length + rest.join("").length >= 3;
}
