/** Notes the newest image in a deployment directory, for nodes that have none yet. */

import { join } from "node:path";
import type { ImageIdentity } from "../../../infra/plan/types.ts";
import { RELEASE_FILE, readRelease, writeRelease } from "../../../infra/release.ts";

/** Leaves what each node has alone. Resolves with the file's path. Errors as `readRelease`'s and `writeRelease`'s. */
export async function recordBuilt(directory: string, built: ImageIdentity): Promise<string> {
  await writeRelease(directory, { ...(await readRelease(directory)), built });
  return join(directory, RELEASE_FILE);
}
