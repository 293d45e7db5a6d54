/**
 * Packages of plugins in the home: one folder for each version, so that the configuration names the version which the node runs, and a
 * new one never changes files of a node that runs. No script of a package is executed while it is installed.
 */

import { createHash, randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { x as extract } from "tar";
import type { LoadedConfig } from "../../runtime/config/index.ts";
import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf, systemWords } from "../../runtime/contracts/system-errors.ts";
import { isRecord } from "../../runtime/contracts/values.ts";
import { withEditLock } from "../configuration/replace.ts";
import type { PluginSource } from "./plugin-source.ts";

/** Of the home. */
export const PACKAGES = "plugin-packages";
const OWN_PACKAGE = "cairn-agents";
/** In each folder: what it was installed from. */
const RECORD = ".cairn-package.json";
/** Of folders that are not complete; what an interrupted command has left of them is removed by the next one. */
const UNFINISHED = ".new-";

const NPM = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
/** For npm, which may have to fetch many packages. */
const NPM_MS = 600_000;
const GRACE_MS = 5_000;
const MOST_LINES = 5;

export type PackageSource = Exclude<PluginSource, { kind: "folder" }>;

/** Work on the home's packages, by one command at a time. */
export async function withPackages<T>(home: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = join(home, PACKAGES);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return withEditLock(join(folder, ".install"), async () => {
    for (const name of await readdir(folder)) {
      if (name.startsWith(UNFINISHED)) await rm(join(folder, name), { recursive: true, force: true });
    }
    return work(folder);
  });
}

/** Whether the path is the folder of a package that was installed: one that somebody has put there is theirs. */
export async function isPackage(home: string, path: string): Promise<boolean> {
  return dirname(path) === join(home, PACKAGES) && (await integrityOf(path)) !== null;
}

/**
 * Deletes packages that the configuration does not name any more. The command that takes a name out leaves its folder to the next
 * one: the node that runs may import files of it until it is restarted.
 */
export async function removeUnnamed(
  folder: string,
  { config, plugins }: Pick<LoadedConfig, "config" | "plugins">,
): Promise<void> {
  const paths = [...config.plugin_dirs, ...plugins.map(({ path }) => path)];
  const named = new Set(await Promise.all(paths.map((path) => realpath(path).catch(() => path))));
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if ((await integrityOf(path)) === null || named.has(await realpath(path))) continue;
    await rm(path, { recursive: true, force: true });
  }
}

export interface Unpacked {
  /** Of the package, without its dependencies; the caller installs or removes it. */
  readonly path: string;
  /** SHA-512 of its archive, as npm writes it. */
  readonly integrity: string;
}

/** Fetches and unpacks. RUNTIME_NOT_FOUND, RUNTIME_INVALID_REQUEST for no archive of a package, INFRA_TOOL_MISSING, INFRA_FAILED. */
export async function unpack(source: PackageSource, folder: string, signal: AbortSignal): Promise<Unpacked> {
  const path = join(folder, `${UNFINISHED}${randomUUID()}`);
  await mkdir(path, { mode: 0o755 });
  try {
    const archive = source.kind === "archive" ? source.path : await fetchArchive(source, path, signal);
    const integrity = await unpackArchive(archive, path);
    if (source.kind === "package") await rm(archive);
    await requireFreeRecord(path);
    await restrict(path);
    return { path, integrity };
  } catch (error) {
    await rm(path, { recursive: true, force: true });
    throw error;
  }
}

/** RUNTIME_INVALID_REQUEST: a file of that name is replaced, a folder cannot be. */
async function requireFreeRecord(path: string): Promise<void> {
  const entry = await lstat(join(path, RECORD)).catch(() => null);
  if (!entry?.isDirectory()) return;
  throw new RuntimeError(
    "RUNTIME_INVALID_REQUEST",
    `The package has a folder ${RECORD}, a name that Cairn uses itself.`,
    {
      hint: "Give that folder another name, and pack it again.",
    },
  );
}

/** Installs what it depends on. INFRA_TOOL_MISSING, INFRA_FAILED. */
export async function installDependencies(path: string, signal: AbortSignal): Promise<void> {
  const file = join(path, "package.json");
  const manifest = withoutAuthorsPackages(JSON.parse(await readFile(file, "utf8")));
  const wanted = [manifest["dependencies"], manifest["optionalDependencies"]];
  if (wanted.every((packages) => !isRecord(packages) || Object.keys(packages).length === 0)) return;
  await writeFile(file, `${JSON.stringify(manifest, null, 2)}\n`);
  await npm(["install", ...NPM], path, signal);
}

/** npm would ask the registry about what only the author needs. Cairn itself, where it is named as a peer, is the node's own copy. */
function withoutAuthorsPackages(manifest: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { devDependencies: _, peerDependencies: peers, ...others } = manifest;
  if (!isRecord(peers)) return others;
  const { [OWN_PACKAGE]: __, ...kept } = peers;
  return { ...others, peerDependencies: kept };
}

/** Gives it its name among the packages. Whatever has that name and is named by no configuration is replaced. */
export async function keep({ path, integrity }: Unpacked, target: string): Promise<void> {
  await writeFile(join(path, RECORD), `${JSON.stringify({ integrity }, null, 2)}\n`);
  await restrict(path);
  await rm(target, { recursive: true, force: true });
  await rename(path, target);
}

/** Null where nothing is installed there. */
export async function integrityOf(path: string): Promise<string | null> {
  try {
    const record: unknown = JSON.parse(await readFile(join(path, RECORD), "utf8"));
    return isRecord(record) && typeof record["integrity"] === "string" ? record["integrity"] : null;
  } catch {
    return null;
  }
}

async function fetchArchive(
  { name, version }: { readonly name: string; readonly version: string },
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  await npm(
    ["pack", ...NPM, "--prefer-online", "--pack-destination", folder, "--", `${name}@${version}`],
    folder,
    signal,
  );
  const archive = (await readdir(folder)).find((one) => one.endsWith(".tgz"));
  if (archive === undefined) throw new InfraError("INFRA_FAILED", "`npm pack` has written no archive.");
  return join(folder, archive);
}

/** Files and folders alone, as npm does it. A package's own settings of npm do not count. */
async function unpackArchive(file: string, target: string): Promise<string> {
  try {
    const integrity = `sha512-${createHash("sha512")
      .update(await readFile(file))
      .digest("base64")}`;
    await extract({
      file,
      cwd: target,
      strip: 1,
      strict: true,
      filter: (path, entry) =>
        "type" in entry && ["File", "OldFile", "Directory"].includes(entry.type) && basename(path) !== ".npmrc",
    });
    return integrity;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") {
      throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no file ${file}.`, { cause });
    }
    const { reason } = systemWords(cause);
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${file} is no archive of a package (${reason}).`, {
      hint: "`npm pack` in the plugin's folder makes one.",
      cause,
    });
  }
}

async function npm(args: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  const result = await execa("npm", args, {
    cwd,
    reject: false,
    all: true,
    stdin: "ignore",
    cancelSignal: signal,
    timeout: NPM_MS,
    forceKillAfterDelay: GRACE_MS,
    env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` },
  });
  signal.throwIfAborted();
  if (!result.failed) return;
  if (result.code === "ENOENT") {
    throw new InfraError("INFRA_TOOL_MISSING", "There is no npm on this machine.", {
      hint: "It comes with Node. A folder can be added without it.",
    });
  }
  const said = result.all ?? "";
  const [command = ""] = args;
  if (command === "pack" && /\bcode (?:E404|ETARGET)\b/.test(said)) {
    throw new RuntimeError("RUNTIME_NOT_FOUND", `The registry has no ${args.at(-1)}.`, {
      hint: "`npm view NAME versions` shows what there is.",
    });
  }
  const why = result.timedOut ? `has taken longer than ${NPM_MS / 60_000} min` : "failed";
  throw new InfraError("INFRA_FAILED", `\`npm ${command}\` ${why}.`, {
    hint: "Nothing was changed.",
    lastWords: saidBy(said),
  });
}

/** The reason comes first; what follows are frames of npm itself and advice. */
function saidBy(output: string): string[] {
  const lines = output.split("\n").map((line) => line.replace(/^npm error /, ""));
  return lines.filter((line) => line.trim() !== "" && !line.startsWith("    at ")).slice(0, MOST_LINES);
}

/** Others than its user may not write to code that runs with the node's rights, whatever the archive and the umask say. */
async function restrict(path: string): Promise<void> {
  const { mode } = await lstat(path);
  await chmod(path, mode & 0o755);
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const file = join(entry.parentPath, entry.name);
    await chmod(file, (await lstat(file)).mode & 0o755);
  }
}
