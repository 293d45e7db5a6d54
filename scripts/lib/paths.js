/** Places that the scripts share. */
// @ts-check

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What the scripts fetch and may fetch again; git ignores it, and `npm ci` leaves it alone. */
export const CACHE = join(ROOT, ".cache");
