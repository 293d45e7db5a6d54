/** The hook's own log: a harness must neither show nor keep what goes wrong here. */

import { appendFile, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { preparePrivateDirectory } from "../capture/private-files.ts";

/** Beyond this the log begins anew, and the former one is kept beside it. */
const MAX_BYTES = 1024 * 1024;

export interface HookLog {
  /** Never throws: where the log cannot be written there is no other place for the error. */
  write(message: string): Promise<void>;
}

export function createHookLog(path: string, now: () => Date): HookLog {
  return {
    async write(message) {
      try {
        await preparePrivateDirectory(dirname(path));
        const size = await stat(path).then(
          (found) => found.size,
          () => 0,
        );
        if (size > MAX_BYTES) await rename(path, `${path}.1`);
        const line = message.replace(/\s*\n\s*/g, " ").slice(0, 2_000);
        await appendFile(path, `${now().toISOString()} ${line}\n`, { mode: 0o600 });
      } catch {
        // See above.
      }
    },
  };
}
