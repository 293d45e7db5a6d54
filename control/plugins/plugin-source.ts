/** What `plugin add` is given: a folder, an archive that npm has packed, or a package of the registry with its version. Pure. */

import { resolve } from "node:path";
import { valid } from "semver";
import { expandTilde } from "../../runtime/config/directories.ts";
import { RuntimeError } from "../../runtime/contracts/errors.ts";

export type PluginSource =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "archive"; readonly path: string }
  | { readonly kind: "package"; readonly name: string; readonly version: string };

const ARCHIVE = /\.(?:tgz|tar\.gz)$/;
/** `name@version` or `@scope/name@version`; what begins with `-` is an option, also for npm. */
const PACKAGE = /^(?!-)((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)@([^@/]+)$/;

/**
 * RUNTIME_INVALID_REQUEST for anything else. A name alone is refused: it may be meant as a folder, and the registry's package of
 * that name is anybody's.
 */
export function parsePluginSource(spec: string, cwd: string, home: string | undefined): PluginSource {
  const path = resolve(cwd, expandTilde(spec, home));
  const isPath = /^(?:\.|\/|~\/|~$)/.test(spec) || (spec.includes("/") && !spec.startsWith("@"));
  if (ARCHIVE.test(spec)) return { kind: "archive", path };
  if (isPath) return { kind: "folder", path };
  const [, name, version] = PACKAGE.exec(spec) ?? [];
  if (name !== undefined && version !== undefined && valid(version) === version) {
    return { kind: "package", name, version };
  }
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${spec} is neither a folder nor a package with its version.`, {
    hint: "Give a folder as ./weather, an archive as ./weather-1.2.0.tgz, or a package as weather@1.2.0.",
  });
}
