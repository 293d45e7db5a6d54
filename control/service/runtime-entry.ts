/** Where the service's program lies. */

import { fileURLToPath } from "node:url";

/** `runtime/main`, as source or compiled, whichever this file is. */
export function runtimeEntry(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fileURLToPath(new URL(`../../runtime/main.${extension}`, import.meta.url));
}
