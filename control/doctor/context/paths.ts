/** Where the deployment and the home directory are, also where there is no home directory at all. */

import { homedir } from "node:os";
import { join } from "node:path";
import { resolveDirectories } from "../../../runtime/config/directories.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import { CairnError } from "../../../runtime/contracts/errors.ts";

export interface DeploymentPaths {
  /** Deployment directory, absolute. */
  readonly dir: string;
  /** Path of cairn.yaml, whether or not it is there. */
  readonly file: string;
  /** Null when neither SERVICE_HOME nor a user's home is known, or when the home is another deployment's. */
  readonly home: string | null;
  /** Why there is no home. */
  readonly homeError: CairnError | null;
  /** Home of the user, for `~/`. */
  readonly userHome: string | undefined;
}

/** Never throws: a user without a home is one of the things to report. */
export function findPaths(
  flags: { readonly dir?: string | undefined },
  env: Environment,
  cwd: string,
  fallback: () => string | undefined = systemHome,
): DeploymentPaths {
  const user = env["HOME"] || fallback();
  try {
    const { dir, file, home } = resolveDirectories({ flags, env, cwd, homedir: user });
    return { dir, file, home, homeError: null, userHome: user };
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    // Only the home is refused: with one in its place the rest is found as always.
    const home = env["SERVICE_HOME"] || (user === undefined ? cwd : join(user, ".cairn"));
    const { dir, file } = resolveDirectories({ flags, env, home, cwd, homedir: user });
    return { dir, file, home: null, homeError: error, userHome: user };
  }
}

/** A user without an entry in the system (a container with any number as its user) has none. */
function systemHome(): string | undefined {
  try {
    return homedir() || undefined;
  } catch {
    return undefined;
  }
}
