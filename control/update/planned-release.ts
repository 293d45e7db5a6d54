/** Which release a rollout would bring, before anything is built. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { isOlder } from "../../runtime/contracts/versions.ts";
import { Builds, versionIn } from "./builds.ts";
import { Git } from "./git.ts";

export interface PlannedRelease {
  /** Source tree, or directory of the installed program. */
  readonly root: string;
  /** From the command line. */
  readonly version: string | undefined;
  readonly signal: AbortSignal;
}

/** Its version; null where the program is no source tree, and is given as it is. Errors of Git, and of `chooseRelease`. */
export async function plannedRelease({ root, version, signal }: PlannedRelease): Promise<string | null> {
  const git = new Git(root, signal);
  if (version === undefined && !existsSync(join(root, ".git"))) return null;
  await git.requireCheckout();
  const release = await git.release(version);
  const from = await versionIn((await new Builds(root).serving()) ?? root);
  return version === undefined && isOlder(release.version, from) ? from : release.version;
}
