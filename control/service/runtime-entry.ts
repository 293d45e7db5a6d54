/** Where the service's program lies. */

import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceTreeOf } from "./source-tree.ts";

/** `runtime/main`, as source or compiled, whichever this file is. */
export function runtimeEntry(): string {
  if (import.meta.url.endsWith(".ts")) return fileURLToPath(new URL("../../runtime/main.ts", import.meta.url));
  const entry = fileURLToPath(new URL("../../runtime/main.js", import.meta.url));
  // A service that is installed now is to run what a later update puts in this place.
  const lasting = join(sourceTreeOf(dirname(dirname(dirname(entry)))), "dist", "runtime", "main.js");
  return isSame(lasting, entry) ? lasting : entry;
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
