/** Takes the place of `control/service/runtime-entry.ts` in a command line under test. */

import { fileURLToPath } from "node:url";

export function runtimeEntry(): string {
  return fileURLToPath(new URL("./stand-in-node.ts", import.meta.url));
}
