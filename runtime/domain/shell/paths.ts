/** What a path in a command means for the machine: whose it is, and what deleting, writing or reading it would do. */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { HOME, MAX_PATH_CHARS, UNKNOWN } from "./state.ts";

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
  if (normal.startsWith(UNKNOWN)) return "unknown";
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

/** Whether only a run could show where the path begins: it may be any. */
export function isComputed(path: string): boolean {
  return path.startsWith(UNKNOWN);
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
  if (path.length <= MAX_PATH_CHARS && STARTUP_FILES.test(posix.normalize(path)))
    return "it would change what runs at the next login";
  return firstReason(territoriesOf(path, directories, workspace), {
    root: "it would write to the root directory",
    system: "it would overwrite files of the system",
    device: "it would write to a device directly",
    network: "it would open a connection from the shell itself",
  });
}

const STARTUP_FILES = new RegExp(
  `^${HOME}/(\\.ssh/|\\.(bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv)$|\\.config/(autostart|systemd)/)`,
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

function firstReason(territories: readonly Territory[], reasons: Partial<Record<Territory, string>>): string | null {
  for (const territory of territories) {
    const reason = reasons[territory];
    if (reason) return reason;
  }
  return null;
}
