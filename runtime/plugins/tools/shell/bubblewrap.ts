/**
 * The walls of the sandbox as bubblewrap arguments. Nothing is there but what is listed: system directories read-only,
 * the workspace read-write, a private /tmp, /proc and /dev. The service's home, its deployment directory and its
 * processes are not hidden, they do not exist inside.
 */

import { posix } from "node:path";
import { isWithin } from "../../../domain/workspace-path.ts";

export type SystemMount =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export interface ProtectedPath {
  /** Absolute, resolved. */
  readonly path: string;
  readonly kind: "file" | "directory";
}

export interface SandboxLayout {
  readonly system: readonly SystemMount[];
  /** Further directories or files to show read-only: as they are configured, and what they lead to. */
  readonly readOnly: readonly { readonly path: string; readonly resolved: string }[];
  /** The workspace, resolved, and every path under which commands shall find it. */
  readonly workspace: { readonly source: string; readonly mountedAt: readonly string[] };
  /** Files and directories of the service: covered wherever something above would show them. */
  readonly protectedPaths: readonly ProtectedPath[];
  /** Working directory, as a path inside. */
  readonly cwd: string;
  readonly network: boolean;
  /** Whether a filter of system calls waits at FILTER_DESCRIPTOR. */
  readonly filtered: boolean;
  readonly hardening: Hardening;
}

/** Where HOME points inside: on the private /tmp, gone after the command. */
export const SANDBOX_HOME = "/tmp/home";

const TMP_BYTES = 1024 ** 3;
const SHARED_MEMORY_BYTES = 256 * 1024 ** 2;

/** The descriptor from which bubblewrap reads the filter of system calls. */
export const FILTER_DESCRIPTOR = 3;

/** What not every bubblewrap can do: 0.8 does all of it, older and setuid ones do without. */
export interface Hardening {
  /** No further user namespaces inside. */
  readonly noNamespaces: boolean;
  /** Bounds on the sizes of /tmp and /dev/shm. */
  readonly boundedTmp: boolean;
}

/** From the strictest to what any bubblewrap can do: the first one that works is used. */
export const HARDENINGS: readonly Hardening[] = [
  { noNamespaces: true, boundedTmp: true },
  { noNamespaces: false, boundedTmp: true },
  { noNamespaces: false, boundedTmp: false },
];

const ISOLATION: readonly string[] = [
  "--die-with-parent",
  "--new-session",
  "--unshare-user",
  "--unshare-ipc",
  "--unshare-pid",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--cap-drop",
  "ALL",
  "--hostname",
  "sandbox",
];

/** Pure. The order matters: what comes later covers what came before. */
export function bubblewrapArguments(layout: SandboxLayout, command: readonly string[]): string[] {
  const { workspace } = layout;
  // One that holds the workspace itself is covered before the workspace is put into it: its siblings stay out.
  const [inWorkspace, elsewhere] = partition(
    layout.protectedPaths,
    ({ path }) => isWithin(workspace.source, path) && !isWithin(path, workspace.source),
  );
  const bounded = (bytes: number) => (layout.hardening.boundedTmp ? ["--size", String(bytes)] : []);
  const shown = [...layout.system, ...layout.readOnly].map(({ path }) => path);
  const below = elsewhere.filter(({ path }) => shown.some((root) => isWithin(root, path)));
  // Behind a link a directory has another name inside, also for what the workspace's own covers are for.
  const renamed = layout.readOnly.flatMap(({ path: root, resolved }) =>
    layout.protectedPaths
      .filter(({ path }) => root !== resolved && isWithin(resolved, path))
      .map(({ path, kind }) => ({ path: posix.join(root, posix.relative(resolved, path)), kind })),
  );
  const coveredBelow = outermost([...below, ...renamed]);
  const inside = outermost(inWorkspace);
  const onTheWay = [...new Set(inside.flatMap(({ path }) => between(workspace.source, path)))];
  const rest = (path: string) => path.slice(workspace.source.length);
  const coveredInside = workspace.mountedAt.flatMap((mount) =>
    inside.map(({ path, kind }) => ({ path: mount + rest(path), kind })),
  );
  const emptied = [...coveredBelow, ...coveredInside].filter(({ kind }) => kind === "directory");
  return [
    ...ISOLATION,
    ...(layout.hardening.noNamespaces ? ["--disable-userns"] : []),
    ...(layout.network ? [] : ["--unshare-net"]),
    ...(layout.filtered ? ["--seccomp", String(FILTER_DESCRIPTOR)] : []),
    ...layout.system.flatMap(systemMount),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...bounded(SHARED_MEMORY_BYTES),
    "--tmpfs",
    "/dev/shm",
    ...bounded(TMP_BYTES),
    "--tmpfs",
    "/tmp",
    "--dir",
    SANDBOX_HOME,
    "--dir",
    "/var",
    "--symlink",
    "/tmp",
    "/var/tmp",
    ...layout.readOnly.flatMap(({ path, resolved }) => ["--ro-bind-try", resolved, path]),
    ...coveredBelow.flatMap(cover),
    ...workspace.mountedAt.flatMap((path) => ["--bind", workspace.source, path]),
    // A directory above a cover could be renamed, and the next command would find the file beside its cover: mounts cannot be.
    ...workspace.mountedAt.flatMap((mount) => onTheWay.flatMap((path) => ["--bind", path, mount + rest(path)])),
    ...coveredInside.flatMap(cover),
    // bubblewrap makes these in memory, without a bound: what can be written to is bounded, or on a disk. Last, because the
    // mounts above make their places in them.
    // In /proc a command could take back its place as the first that is ended when memory runs out.
    ...[...emptied.map(({ path }) => path), "/proc", "/dev", "/"].flatMap((path) => ["--remount-ro", path]),
    "--chdir",
    layout.cwd,
    "--",
    ...command,
  ];
}

/** Without those below another directory of the list, whose cover hides them: there is no place in it for a cover of theirs. */
function outermost(paths: readonly ProtectedPath[]): ProtectedPath[] {
  const distinct = [...new Map(paths.map((one) => [one.path, one])).values()];
  return distinct.filter(
    ({ path }) =>
      !distinct.some((other) => other.path !== path && other.kind === "directory" && isWithin(other.path, path)),
  );
}

/** The directories that lie below the root and above the path, from the outermost. */
function between(root: string, path: string): string[] {
  const names = path
    .slice(root.length + 1)
    .split("/")
    .slice(0, -1);
  return names.map((_, at) => [root, ...names.slice(0, at + 1)].join("/"));
}

/** In the place of a file a device that cannot be opened (bubblewrap mounts without devices), in that of a directory nothing. */
function cover({ path, kind }: ProtectedPath): string[] {
  return kind === "file" ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path];
}

function systemMount(mount: SystemMount): string[] {
  return mount.kind === "link" ? ["--symlink", mount.target, mount.path] : ["--ro-bind-try", mount.path, mount.path];
}

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}
