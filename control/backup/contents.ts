/**
 * Which files of a deployment are in its backup: what cairn.yaml and the node need, by name. What can be made anew, and what the memory's
 * archive has, is left out; what lies elsewhere is named.
 */

import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { within, workspaceRoots } from "../../infra/plan/workspaces.ts";
import { CONFIG_FILE, type Config, isPem, SECRETS_FILE } from "../../runtime/config/index.ts";
import { DIRECTORY, HOME, type LeftOut } from "./manifest.ts";

/** Of the home, restored with it. */
export const HOME_KEPT = [
  "node.key",
  "tls.key",
  "credentials",
  "capture",
  "mcp-tools.json",
  "plugin-packages",
  "spool",
  "workspaces",
  "mesh.json",
  "logs/audit",
] as const;
/** Of the home, left out: the memory itself, its scheduled archives, logs, and what the next start makes or fetches anew. */
export const HOME_OMITTED = [
  "store",
  "attachments",
  "backups",
  "logs",
  "run",
  "models",
  "node",
  "pulumi",
  "tls.pem",
  "update.json",
  "home.json",
  // A token that is good for an hour.
  "join.json",
] as const;
/** Of the deployment directory, besides what cairn.yaml refers to. */
const DIRECTORY_KEPT = [CONFIG_FILE, SECRETS_FILE, ".gitignore", "infra"];
const DIRECTORY_OMITTED = ["backups", "infra/node_modules", "infra/logs", "infra/.lock"];

export interface Source {
  readonly part: typeof DIRECTORY | typeof HOME;
  /** Below the part, with `/`; empty for all of it. */
  readonly path: string;
  /** On this machine. */
  readonly absolute: string;
}

export interface Contents {
  readonly sources: readonly Source[];
  /** Absolute paths that are passed over inside a source. */
  readonly passed: ReadonlySet<string>;
  readonly leftOut: readonly LeftOut[];
}

export interface ContentsInput {
  readonly dir: string;
  readonly home: string;
  readonly config: Config;
  /** The backup itself: it may be written into a workspace. */
  readonly file: string;
}

/** Looks at the file system, and changes nothing. */
export async function contentsOf({ dir, home, config, file }: ContentsInput): Promise<Contents> {
  const sources: Source[] = [];
  const leftOut: LeftOut[] = [];
  for (const absolute of workingDirectories(config)) {
    // All of a source tree is not what a server needs of it.
    if (within(absolute, dir) !== null) leftOut.push({ path: absolute, reason: "it is around cairn.yaml itself" });
  }
  const kept = HOME_KEPT.map((name) => join(home, name));
  // What the home keeps comes with it, also where cairn.yaml names it.
  const named = referredTo(config, dir).filter((path) => kept.every((own) => within(own, path) === null));
  const wanted = [...DIRECTORY_KEPT.map((name) => join(dir, name)), ...named];
  for (const absolute of new Set(wanted)) {
    if (!(await isThere(absolute))) continue;
    const inHome = dir === home ? null : within(home, absolute);
    const inDirectory = within(dir, absolute);
    if (inHome === "") leftOut.push({ path: absolute, reason: "it is the home itself" });
    else if (inHome !== null) sources.push({ part: HOME, path: inHome, absolute });
    else if (inDirectory !== null) sources.push({ part: DIRECTORY, path: inDirectory, absolute });
    else leftOut.push({ path: absolute, reason: "it lies outside of the deployment directory and the home" });
  }
  for (const name of HOME_KEPT) {
    const absolute = join(home, name);
    if (await isThere(absolute)) sources.push({ part: HOME, path: name, absolute });
  }
  const store = config.memory.embedded.path;
  const passed = new Set([
    ...HOME_OMITTED.map((name) => join(home, name)),
    ...(dir === home ? kept : [home]),
    ...DIRECTORY_OMITTED.map((name) => join(dir, name)),
    store,
    ...(await movedStores(store)),
    file,
  ]);
  return { sources: outermost(sources), passed, leftOut };
}

/** Absolute paths that the configuration names, besides its store. */
export function referredTo(config: Config, dir: string): string[] {
  const { tls } = config.runtime;
  const { proxmox, kubernetes } = config.deployment;
  return [
    ...workingDirectories(config).filter((path) => within(path, dir) === null),
    ...(config.memory.session_roots ?? []),
    ...databaseFiles(config, dir),
    ...workspaceRoots(config).map(({ source }) => source),
    ...config.plugin_dirs,
    ...config.skill_dirs,
    ...(typeof tls === "string" ? [] : [tls.cert, tls.key].filter((value) => !isPem(value))),
    ...(proxmox?.identity_file === undefined ? [] : [proxmox.identity_file]),
    ...(kubernetes.kubeconfig === undefined ? [] : [kubernetes.kubeconfig]),
  ];
}

function workingDirectories({ mcp }: Config): string[] {
  return [...new Set(Object.values(mcp.servers).flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd])))];
}

/** Certificates and keys that an address of PostgreSQL names, which the driver reads. */
function databaseFiles({ memory: { postgres } }: Config, dir: string): string[] {
  const addresses = [postgres?.connection_string, postgres?.direct_url].flatMap((one) => URL.parse(one ?? "") ?? []);
  return addresses.flatMap(({ searchParams }) =>
    ["sslrootcert", "sslcert", "sslkey"].flatMap((name) => {
      const path = searchParams.get(name);
      return path ? [resolve(dir, path)] : [];
    }),
  );
}

/** Each file once: what lies in another source comes with it. */
function outermost(sources: readonly Source[]): Source[] {
  return sources.filter(
    (one, index) =>
      !sources.some(
        (other, at) =>
          at !== index &&
          other.part === one.part &&
          within(other.absolute, one.absolute) !== null &&
          (other.absolute !== one.absolute || at < index),
      ),
  );
}

/** `store.moved-<time>`: what `memory move` has left. */
async function movedStores(store: string): Promise<string[]> {
  const names = await readdir(dirname(store)).catch((): string[] => []);
  return names.filter((name) => name.startsWith(`${basename(store)}.moved-`)).map((name) => join(dirname(store), name));
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
