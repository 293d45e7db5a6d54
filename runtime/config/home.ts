/**
 * Which home belongs to which deployment directory, so that no command reaches the node or the store of another one.
 * docs/decisions/028-a-home-per-deployment.md
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { tryLock } from "fs-native-extensions";
import { ConfigError, RuntimeError } from "../contracts/errors.ts";
import { codeOf, systemWords } from "../contracts/system-errors.ts";

export const CONFIG_FILE = "cairn.yaml";
/** In a home: the deployment directory that it belongs to, where its path does not show it. */
const OWNER_FILE = "home.json";
/** What an earlier version kept in a home; of a deployment whose nodes run elsewhere, tokens and settings alone. */
const EARLIER_FILES = ["store", "node.key", "credentials", "capture"];
/** In a home that is inside its directory: git takes nothing of it. */
const IGNORE_FILE = ".gitignore";

/** The home in the deployment directory itself. */
export function ownHome(dir: string): string {
  return join(dir, ".cairn");
}

/**
 * `shared` is `~/.cairn`: home of the default directory, and, of an earlier version, of every other one as well. What such a
 * version left there stays the home of the directory that used it. Reads, and writes nothing.
 */
export function homeOf(dir: string, shared: string): string {
  const own = ownHome(dir);
  if (isSame(dir, shared)) {
    const owner = readOwner(shared);
    return owner === null || isSame(owner, dir) ? shared : own;
  }
  return !existsSync(own) && isEarlierHome(shared, dir) ? shared : own;
}

/** CONFIG_INVALID when another deployment directory, one that is still there, has the home. */
export function refuseHomeOfAnother(home: string, dir: string): void {
  // A copy of a deployment directory has the file of the original's node in its own home.
  const owner = readOwner(home) ?? (isOwnHome(home, dir) ? null : runningOwner(home));
  if (owner === null || isSame(owner, dir)) return;
  throw new ConfigError("CONFIG_INVALID", `The home directory ${home} belongs to the deployment in ${owner}.`, {
    hint: `Set SERVICE_HOME to another directory for ${dir}. If ${dir} is to have this home from now on, remove ${join(home, OWNER_FILE)}.`,
  });
}

/** Writes down whose home this is; for the process that holds its lock. Errors as `refuseHomeOfAnother`. */
export function claimHome(home: string, dir: string): void {
  if (isOwnHome(home, dir)) return;
  const owner = readOwner(home);
  if (owner !== null && isSame(owner, dir)) return;
  if (owner !== null) refuseHomeOfAnother(home, dir);
  writeFileSync(join(home, OWNER_FILE), `${JSON.stringify({ dir }, null, 2)}\n`, { mode: 0o600 });
}

/** Makes a directory's own home, of which git takes nothing. Another home is made by the first start. */
export function makeOwnHome(home: string, dir: string): void {
  if (!isOwnHome(home, dir)) return;
  makePrivateDirectory(home);
  const ignore = join(home, IGNORE_FILE);
  if (!existsSync(ignore) && !existsSync(join(home, CONFIG_FILE))) writeFileSync(ignore, "*\n", { mode: 0o600 });
}

/** Makes a directory that is missing, and those above it, open to their owner alone. CONFIG_UNWRITABLE says why it cannot be. */
export function makePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const cause = reasonAbove(path, error);
    const { reason, hint } = systemWords(cause);
    throw new ConfigError("CONFIG_UNWRITABLE", `The directory ${path} cannot be made (${reason}).`, {
      cause,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

/** Node's recursive mkdir says ENOENT on a read-only file system: the nearest directory that is there says why. */
function reasonAbove(path: string, error: unknown): unknown {
  const above = dirname(path);
  if (codeOf(error) !== "ENOENT" || above === path) return error;
  try {
    accessSync(above, constants.W_OK);
    return error;
  } catch (reason) {
    return reasonAbove(above, reason);
  }
}

/** Whether an earlier version, for which all directories had one home, may have kept this directory's memory in `shared`. */
export function mayHaveShared(shared: string, dir: string): boolean {
  return (
    !isSame(shared, dir) &&
    EARLIER_FILES.some((name) => existsSync(join(shared, name))) &&
    [CONFIG_FILE, ".env"].every((name) => existsSync(join(dir, name)))
  );
}

/** A `.env` is in no repository: a directory that has one was used on this machine. */
function isEarlierHome(shared: string, dir: string): boolean {
  const owner = readOwner(shared) ?? runningOwner(shared);
  if (owner !== null) return isSame(owner, dir);
  return !existsSync(join(shared, CONFIG_FILE)) && mayHaveShared(shared, dir);
}

/**
 * A home inside its directory moves with it, and needs no record. `~/.cairn` may be inside one by chance, and a link may lead into
 * the home of another one.
 */
function isOwnHome(home: string, dir: string): boolean {
  const place = resolve(home);
  return (
    basename(place) === basename(ownHome(dir)) &&
    isSame(dirname(place), dir) &&
    !isLink(place) &&
    !existsSync(join(place, CONFIG_FILE))
  );
}

/** Null where nothing says so, or where that directory is no deployment any more. */
function readOwner(home: string): string | null {
  const owner = readJson(join(home, OWNER_FILE))["dir"];
  return typeof owner === "string" && existsSync(join(owner, CONFIG_FILE)) ? owner : ownerAround(home);
}

/** The directory that has made the home for itself: its place says whose it is, however another one comes to it. */
function ownerAround(home: string): string | null {
  const place = real(home);
  const dir = dirname(place);
  const isMade = existsSync(join(place, IGNORE_FILE)) && existsSync(join(dir, CONFIG_FILE));
  return isMade && isOwnHome(place, dir) ? dir : null;
}

/** A node of an earlier version writes no owner, but `run/node.json` names its directory. What it leaves when it is killed does not count. */
function runningOwner(home: string): string | null {
  const { dir } = readJson(join(home, "run", "node.json"));
  return typeof dir === "string" && isHeld(join(home, "run", "node.lock")) ? dir : null;
}

/** Held by `memory move` from its first look to its end. */
function moveLock(home: string): string {
  return join(home, "run", "move.lock");
}

/** Keeps every node out of the home but those of the move itself; null where another move has it. The system gives it back at an end. */
export function lockForMove(home: string): { release(): void } | null {
  makePrivateDirectory(join(home, "run"));
  const file = openSync(moveLock(home), "a+", 0o600);
  if (tryLock(file)) return { release: () => closeSync(file) };
  closeSync(file);
  return null;
}

/** RUNTIME_CONFLICT while the memory is moved: what is said meanwhile would stay in the store that is left. */
export function refuseDuringMove(home: string): void {
  if (!isHeld(moveLock(home))) return;
  throw new RuntimeError("RUNTIME_CONFLICT", "The memory is being moved to another store.", {
    hint: "Wait for the end of `cairn memory move`, and start again.",
  });
}

/** Whether a node has the lock of its home, asked for as a reader would and given back at once. */
function isHeld(lock: string): boolean {
  let file: number;
  try {
    file = openSync(lock, "r");
  } catch (error) {
    // Of another user's node nothing can be known.
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
  try {
    return !tryLock(file, { shared: true });
  } finally {
    closeSync(file);
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch (error) {
    // ENOTDIR: a file in place of the directory, which the command that wants to write there reports.
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

/** Empty where there is no such file, or none that can be read as an object. */
function readJson(path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isSame(one: string, other: string): boolean {
  return real(one) === real(other);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
