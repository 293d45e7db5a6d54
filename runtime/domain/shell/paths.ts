/** What a path in a command means for the machine: whose it is, what is read there, and what deleting or writing it would do. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { isGlob, matchesGlob } from "./glob.ts";
import type { Inspector } from "./inspection.ts";
import type { ShellState } from "./state.ts";
import { type Stream, textStream } from "./streams.ts";
import { COMPUTED, HOME, MAX_PATH_CHARS, PROCESS, VALUE } from "./values.ts";

/** Absolute and normalised, by the first directory in which the shell may be. */
export function absolutePath(path: string, state: ShellState): string {
  return posix.isAbsolute(path) ? posix.normalize(path) : posix.join(state.directories[0] ?? COMPUTED, path);
}

/** What is read from this path: a process substitution, a file of the script's own making, or one that was there. */
export function readingOf(path: string, state: ShellState): Stream {
  if (path.startsWith(PROCESS)) return textStream(path.slice(PROCESS.length));
  const absolute = absolutePath(path, state);
  if (/^(\/dev|\/proc\/[^/]+)\/fd\//.test(absolute)) return { kind: "program", program: "another descriptor" };
  const named = isGlob(absolute) ? [...state.files.keys()].find((name) => matchesGlob(absolute, name)) : absolute;
  return state.files.get(named ?? absolute) ?? { kind: "file" };
}

/** Whether the path is the standard input under another name. */
export function isStandardInput(path: string): boolean {
  return path === "-" || /^\/dev\/(stdin|fd\/0)$|^\/proc\/[^/]+\/fd\/0$/.test(posix.normalize(path));
}

/** A path as a person reads it. */
export function readable(path: string): string {
  return path.replaceAll(HOME, "~").replaceAll(COMPUTED, "...").replaceAll(VALUE, "...").replaceAll(PROCESS, "");
}

export type Territory =
  | "root"
  | "home"
  | "system"
  | "device"
  | "network"
  | "outside"
  | "workspace"
  | "inside"
  | "temporary"
  | "unknown";

const SYSTEM =
  "/bin /boot /etc /lib /lib32 /lib64 /libx32 /opt /proc /root /run /sbin /srv /sys /usr /var /home /System /Library /Applications /Users".split(
    " ",
  );
const TEMPORARY = ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"];
/** Devices that swallow or give harmless bytes. */
const HARMLESS_DEVICES = /^\/dev\/(null|zero|full|tty|u?random|std(in|out|err)|fd(\/.*)?|pts\/\d+|shm\/.*)$/;
/** Directories below the home directory that hold nothing but caches. */
const CACHES = [".cache", ".npm/_cacache", ".gradle/caches", ".cargo/registry"].map((path) => `${HOME}/${path}`);

/**
 * Whose place `path` is; it may hold globs and unknown text. `directories` are those in which the shell may be. A path
 * that ends in a glob for everything means the directory that it empties.
 */
export function territoriesOf(path: string, directories: readonly string[], workspace: string): readonly Territory[] {
  // An empty operand names nothing, as one that is too long: programs fail on it.
  if (path === "" || path.length > MAX_PATH_CHARS) return [];
  const absolute = path.startsWith("/") ? [path] : directories.map((directory) => posix.join(directory, path));
  return absolute.map((candidate) => territoryOf(withoutCatchAll(candidate), workspace));
}

function territoryOf(path: string, workspace: string): Territory {
  const normal = posix.normalize(path);
  if (normal.startsWith(COMPUTED) || normal.startsWith(VALUE)) return "unknown";
  if (normal === workspace) return "workspace";
  if (isWithin(workspace, normal)) return "inside";
  if (normal === "/") return "root";
  if (/^\/dev\/(tcp|udp)\//.test(normal)) return "network";
  if (TEMPORARY.some((root) => isWithin(root, normal)) || CACHES.some((root) => isWithin(root, normal)))
    return "temporary";
  if (isWithin("/dev", normal)) return HARMLESS_DEVICES.test(normal) ? "temporary" : "device";
  if (isWithin(HOME, normal)) return normal === HOME ? "home" : "outside";
  if (SYSTEM.some((root) => isWithin(root, normal))) return "system";
  return "outside";
}

/** `/x/*` (and `/x/.*`, `/x/?*`) is everything in `/x`. The path is normalised on the way. */
function withoutCatchAll(path: string): string {
  const normal = posix.normalize(path).replace(/(?<=.)\/$/, "");
  const parent = normal.replace(/\/(\.?[*?]+|\.\[[^\]/]*\]\*|\*\.\*)$/, "");
  return parent === "" ? "/" : parent;
}

/** Why deleting this must not happen; null where it may. Deleting is treated as if it were recursive. */
export function deletionReason(path: string, directories: readonly string[], workspace: string): string | null {
  return firstReason(territoriesOf(path, directories, workspace), {
    root: "it would delete the whole file system",
    home: "it would delete the home directory",
    workspace: "it would delete the whole workspace",
    system: "it would delete files of the system",
    device: "it would delete devices",
    outside: "it would delete files outside the workspace",
  });
}

/** Why this must not be written to; null where it may. */
export function writeReason(path: string, directories: readonly string[], workspace: string): string | null {
  const places = path.startsWith("/") ? [path] : directories.map((from) => posix.join(from, path));
  if (path.length <= MAX_PATH_CHARS && places.some((place) => STARTUP_FILES.test(posix.normalize(place))))
    return "it would change what runs at the next login";
  return firstReason(territoriesOf(path, directories, workspace), {
    root: "it would write to the root directory",
    system: "it would overwrite files of the system",
    device: "it would write to a device directly",
    network: "it would open a connection from the shell itself",
  });
}

const STARTUP_FILES = new RegExp(
  `^${HOME}/(\\.ssh(/|$)|\\.(bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv)$|\\.config/(autostart|systemd)/)`,
);

/** Why permissions or owners below this must not be changed as a whole; null where they may. */
export function ownershipReason(path: string, directories: readonly string[], workspace: string): string | null {
  return firstReason(territoriesOf(path, directories, workspace), {
    root: "it would change permissions of the whole file system",
    home: "it would change permissions of the home directory",
    system: "it would change permissions of the system",
    device: "it would change permissions of a device",
    outside: "it would change permissions outside the workspace",
  });
}

type ReasonOf = (path: string, directories: readonly string[], workspace: string) => string | null;

/** Refuses what must not be done to these paths; asks where they are computed. `what`: "what it deletes". */
export function checkPaths(
  paths: readonly string[],
  state: ShellState,
  inspector: Inspector,
  reasonOf: ReasonOf,
  what = "what it writes to",
): void {
  for (const path of paths) {
    const reason = reasonOf(path, state.directories, inspector.workspace);
    const relative = path !== "" && !path.startsWith("/");
    if (reason) inspector.refuse(reason);
    else if (path.includes(COMPUTED) || (relative && state.directories.some((from) => from.includes(COMPUTED))))
      inspector.ask(`${what} is computed while it runs`);
    // What is written to by a listed name is there; what is deleted by it may be everything.
    else if (reasonOf !== writeReason && path.startsWith(VALUE)) inspector.ask(`${what} is computed while it runs`);
  }
}

function firstReason(territories: readonly Territory[], reasons: Partial<Record<Territory, string>>): string | null {
  return territories.map((territory) => reasons[territory]).find((reason) => reason !== undefined) ?? null;
}
