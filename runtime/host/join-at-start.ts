/** A token for joining that `cairn init --join` has left in the home directory: the start joins with it, and removes it. */

import { CairnError } from "../contracts/errors.ts";
import type { Logger } from "../contracts/ports.ts";
import { readJoinFile, removeJoinFile } from "../files/join-file.ts";

const JOIN = "`cairn mesh join HOST --token-file FILE` joins while the node runs.";

/**
 * Why this node has not joined; null: it has, or was not to. The file stays where the other node could not be reached: the next
 * start tries again. It goes where the token is refused, since that is good for nothing any more.
 */
export async function joinAtStart(
  path: string,
  join: (token: string, url: string | null) => Promise<unknown>,
  logger: Logger,
): Promise<string | null> {
  try {
    const given = await readJoinFile(path);
    if (given === null) return null;
    await join(given.token, given.url);
    await removeJoinFile(path);
    return null;
  } catch (error) {
    const again = error instanceof CairnError && error.status >= 500;
    if (!again) await removeJoinFile(path);
    const reason = error instanceof Error ? error.message : String(error);
    const hint = error instanceof CairnError ? error.details.hint : undefined;
    logger.error({ reason, hint, again }, "this node could not join the mesh");
    const next = again ? "The next start tries again; " : "";
    return ["this node could not join:", reason, hint, `${next}${JOIN}`].filter((part) => part !== undefined).join(" ");
  }
}
