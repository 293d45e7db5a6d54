/** What a path in a command means for the machine: whose it is, what is read there, and what deleting or writing it would do. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { matchesGlob } from "./glob.ts";
import type { ShellState } from "./inspection.ts";
import { FILE, type Stream, UNKNOWN } from "./streams.ts";
import { COMPUTED, HOME, isMarked, MAX_PATH_CHARS, PROCESS, VALUE } from "./values.ts";

/** Absolute and normalised; below a directory that is computed, as it is written. */
export function absolutePath(path: string, { directory }: ShellState): string {
  if (posix.isAbsolute(path)) return posix.normalize(path);
  return directory.includes(COMPUTED) ? `${COMPUTED}/${path}` : posix.join(directory, path);
}

/** What is read from this path: of what the script itself makes the text that it shows, and a file that was there as it is. */
export function readingOf(path: string, state: ShellState): Stream {
  const file = absolutePath(path, state);
  if (path.startsWith(PROCESS) || /^(\/dev|\/proc\/[^/]+)\/fd\//.test(file)) return UNKNOWN;
  const written = writtenLike(path, state);
  if (written.length === 0) return FILE;
  const text = written.length === 1 && !isMarked(file) ? state.inspector.written.get(file) : null;
  return typeof text === "string" ? { text, from: "command" } : UNKNOWN;
}

/** Files of that name that the script writes, in whatever directory. */
export function writtenLike(path: string, { inspector }: ShellState): readonly string[] {
  const name = posix.basename(path);
  return [...inspector.written.keys()].filter((file) => file === path || matchesGlob(name, posix.basename(file)));
}

/** Whether the path is the standard input under another name. */
export function isStandardInput(path: string): boolean {
  return path === "-" || /^\/dev\/(stdin|fd\/0)$|^\/proc\/[^/]+\/fd\/0$/.test(posix.normalize(path));
}

/** A path as a person reads it. */
export function readable(path: string): string {
  return path.replaceAll(HOME, "~").replaceAll(COMPUTED, "...").replaceAll(VALUE, "...").replaceAll(PROCESS, "");
}

/** Places where something may be forbidden. */
type Territory = "root" | "home" | "workspace" | "system" | "device" | "network" | "outside";

const SYSTEM =
  /^\/(s?bin|boot|etc|lib(32|64|x32)?|opt|proc|root|run|srv|sys|usr|var|home|System|Library|Applications|Users)(\/|$)/;
/** Temporary directories, and those below the home directory that hold nothing but caches. */
const TEMPORARY = new RegExp(
  `^(/tmp|/var/tmp|/dev/shm|/private/tmp|${HOME}/\\.(cache|npm/_cacache|gradle/caches|cargo/registry))(/|$)`,
);
/** Devices that swallow or give harmless bytes. */
const HARMLESS_DEVICES = /^\/dev\/(null|zero|full|tty|u?random|std(in|out|err)|fd(\/.*)?|pts\/\d+|shm\/.*)$/;

/**
 * Whose place `path` is, which may hold globs and unknown text; null where all may be done. A path that ends in a glob for
 * everything means the directory that it empties. An empty one names nothing, as one that is too long: programs fail on it.
 */
export function territoryOf(path: string, state: ShellState): Territory | null {
  if (path === "" || path.length > MAX_PATH_CHARS) return null;
  const { workspace } = state.inspector;
  const normal = posix.normalize(withoutCatchAll(absolutePath(path, state)));
  if (normal === workspace) return "workspace";
  if (isWithin(workspace, normal) || TEMPORARY.test(normal) || !normal.startsWith("/")) return null;
  if (normal === "/") return "root";
  if (/^\/dev\/(tcp|udp)\//.test(normal)) return "network";
  if (isWithin("/dev", normal)) return HARMLESS_DEVICES.test(normal) ? null : "device";
  if (normal === HOME) return "home";
  return SYSTEM.test(normal) ? "system" : "outside";
}

/** `/x/*` (and `/x/.*`, `/x/?*`) is everything in `/x`. The path is normalised on the way. */
function withoutCatchAll(path: string): string {
  const normal = posix.normalize(path).replace(/(?<=.)\/$/, "");
  const parent = normal.replace(/\/(\.?[*?]+|\.\[[^\]/]*\]\*|\*\.\*)$/, "");
  return parent === "" ? "/" : parent;
}

/** Something that is done to paths: what is asked about where they are computed, and why it must not be done. */
export interface Deed {
  readonly what: string;
  readonly reasons: Partial<Record<Territory, string>>;
}

function changing(verb: string, what: string): Deed {
  const [root, home] = [`it would ${verb} the whole file system`, `it would ${verb} the home directory`];
  const [system, device] = [`it would ${verb} files of the system`, `it would ${verb} devices`];
  return { what, reasons: { root, home, system, device, outside: `it would ${verb} files outside the workspace` } };
}
const removing = (verb: string, { what, reasons }: Deed): Deed => ({
  what,
  reasons: { ...reasons, workspace: `it would ${verb} the whole workspace` },
});
/** Deleting, moving and permissions are treated as if they were recursive. */
export const DELETING = removing("delete", changing("delete", "what it deletes"));
export const MOVING = removing("move away", changing("move away", "what it moves"));
export const PERMITTING = changing("change permissions of", "whose permissions it changes");
export const WRITING: Deed = {
  what: "what it writes to",
  reasons: {
    root: "it would write to the root directory",
    system: "it would change files of the system",
    device: "it would write to a device directly",
    network: "it would open a connection from the shell itself",
  },
};
const STARTUP_FILES = new RegExp(
  `^${HOME}/(\\.ssh(/|$)|\\.(bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv)$|\\.config/(autostart|systemd)/)`,
);

/** Refuses what must not be done to these paths; asks where they are computed. */
export function checkPaths(paths: readonly string[], state: ShellState, deed: Deed): void {
  const { inspector } = state;
  for (const path of paths) {
    const territory = territoryOf(path, state);
    const reason = territory && deed.reasons[territory];
    const from = path === "" || path.startsWith("/") ? "" : state.directory;
    if (reason) inspector.refuse(reason);
    else if (deed === WRITING && path.length <= MAX_PATH_CHARS && STARTUP_FILES.test(absolutePath(path, state)))
      inspector.refuse("it would change what runs at the next login");
    // What is written to by a listed name is there; what is deleted by it may be everything.
    else if ((from + path).includes(COMPUTED) || (deed !== WRITING && /^\.?\ue003/.test(path)))
      inspector.ask(`${deed.what} is computed while it runs`);
  }
}

/** The same for what it writes to. Without its text a file that is written is not run afterwards without a question. */
export function writeTo(paths: readonly string[], state: ShellState, text: string | null = null): void {
  checkPaths(paths, state, WRITING);
  const { written } = state.inspector;
  for (const path of paths.map((one) => absolutePath(one, state)))
    written.set(path, !written.has(path) || written.get(path) === text ? text : null);
}

/** What is in these files afterwards only a run shows, where the script has written them. */
export function changeWritten(paths: readonly string[], state: ShellState): void {
  const { written } = state.inspector;
  for (const file of paths.flatMap((path) => writtenLike(path, state))) written.set(file, null);
}
