/** Which deployment directory a process works in, and where its home is. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../contracts/errors.ts";
import { type FoundPlugin, pluginsIn } from "../files/plugin-package.ts";
import { CONFIG_FILE, homeOf, refuseHomeOfAnother } from "./home.ts";
import type { Environment } from "./references.ts";

export interface DirectoryOptions {
  readonly flags?: { readonly dir?: string | undefined };
  readonly env: Environment;
  readonly cwd: string;
  /** The home that the caller has found already. */
  readonly home?: string | undefined;
  /** Home directory of the user, where the machine has one; `HOME` in the environment comes first. */
  readonly homedir?: string | undefined;
}

export interface Directories {
  /** Deployment directory: cairn.yaml, .env, workspace, infra. Absolute. */
  readonly dir: string;
  /** Home directory: embedded store, logs, spool, node key. Absolute. */
  readonly home: string;
  /** Path of cairn.yaml, whether or not it is there. */
  readonly file: string;
  readonly exists: boolean;
}

/**
 * Deployment directory: `--dir`, else the current directory if it has a cairn.yaml, else `SERVICE_HOME` or `~/.cairn`. Home:
 * `SERVICE_HOME`; else `~/.cairn` for that default directory, and `.cairn` in any other one. ConfigError when neither
 * SERVICE_HOME nor a user's home is known, or when another deployment has the home.
 */
export function resolveDirectories({ flags, env, cwd, homedir, home: given }: DirectoryOptions): Directories {
  const explicit = given ?? (env["SERVICE_HOME"] || undefined);
  const base = baseDirectory(explicit, env, cwd, homedir);
  const dir = deploymentDirectory(flags?.dir, base, env, cwd, homedir);
  const home = explicit === undefined ? homeOf(dir, base) : base;
  if (given === undefined) refuseHomeOfAnother(home, dir);
  const file = join(dir, CONFIG_FILE);
  return { dir, home, file, exists: existsSync(file) };
}

/** `~` and `~/...` with the user's home in place; other paths unchanged. */
export function expandTilde(path: string, userHome: string | undefined): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  return userHome === undefined ? path : join(userHome, path.slice(1));
}

/** Finds what lies in the directories of `plugin_dirs`, which are as the file has them. */
export function pluginFinder(dir: string, user: string | undefined) {
  return async (directories: readonly string[]): Promise<readonly FoundPlugin[]> => {
    const found = await Promise.all(directories.map((path) => pluginsIn(resolve(dir, expandTilde(path, user)))));
    return found.flat();
  };
}

export function userHome(env: Environment, homedir?: string): string | undefined {
  return env["HOME"] || homedir || undefined;
}

/** The default deployment directory, and the home where one is named. */
function baseDirectory(
  explicit: string | undefined,
  env: Environment,
  cwd: string,
  homedir: string | undefined,
): string {
  const user = userHome(env, homedir);
  if (explicit !== undefined) return resolve(cwd, expandTilde(explicit, user));
  if (user === undefined) {
    throw new ConfigError("CONFIG_INVALID", "There is no home directory: neither SERVICE_HOME nor HOME is set.", {
      hint: "Set SERVICE_HOME to a directory that this user may write.",
    });
  }
  return join(resolve(cwd, user), ".cairn");
}

function deploymentDirectory(
  flag: string | undefined,
  base: string,
  env: Environment,
  cwd: string,
  homedir: string | undefined,
): string {
  if (flag) return resolve(cwd, expandTilde(flag, userHome(env, homedir)));
  return existsSync(join(cwd, CONFIG_FILE)) ? cwd : base;
}
