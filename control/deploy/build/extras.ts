/** Copies a plugin or skill directory of the operator into the build context: its files, and nothing that may be a secret. */

import { cp, lstat, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { holdsPrivateKey, isSecretName } from "./secret-files.ts";

export type ExtraKind = "plugin_dirs" | "skill_dirs";

/** Packages are installed in the image, for its platform; hidden files are settings of tools, histories and secrets. */
const LEFT_OUT = /^(?:node_modules|\..*)$/;

/**
 * `target` must not exist. Gives the paths that were left out because they may hold a secret. INFRA_PLAN_INVALID when it is no
 * directory, or when a link leads out of it.
 */
export async function copyExtra(kind: ExtraKind, directory: string, target: string): Promise<readonly string[]> {
  const found = await stat(directory).catch(() => null);
  if (found === null || !found.isDirectory()) {
    throw new InfraError("INFRA_PLAN_INVALID", `${kind} names ${directory}, which is no directory.`, {
      hint: "Correct the path in cairn.yaml, or make the directory.",
    });
  }
  const top = await realpath(directory);
  const secrets: string[] = [];
  await cp(top, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (path) => {
      if (path === top) return true;
      if (LEFT_OUT.test(basename(path))) return false;
      const entry = await lstat(path);
      if (entry.isSymbolicLink()) await checkLink(kind, top, path);
      else if (
        !entry.isDirectory() &&
        (isSecretName(basename(path)) || (entry.isFile() && (await holdsPrivateKey(path))))
      ) {
        secrets.push(path);
        return false;
      }
      return entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    },
  });
  return secrets;
}

/** In the image there is nothing outside: a link there would lead nowhere, or to a file of the system. */
async function checkLink(kind: ExtraKind, top: string, path: string): Promise<void> {
  const link = await readlink(path);
  const inside = relative(top, resolve(dirname(path), link));
  if (!link.startsWith("/") && inside !== ".." && !inside.startsWith("../")) return;
  throw new InfraError("INFRA_PLAN_INVALID", `${path} of ${kind} is a link that leads outside: ${link}.`, {
    hint: "Put the file itself there; only what lies in the directory becomes part of the image.",
  });
}
