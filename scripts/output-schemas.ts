/** Writes docs/schemas anew: `node scripts/output-schemas.ts`, after a change of what a command prints. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outputSchemas } from "./lib/output-schemas.ts";
import { ROOT } from "./lib/paths.js";

const folder = join(ROOT, "docs", "schemas");
mkdirSync(folder, { recursive: true });
for (const [name, text] of outputSchemas()) writeFileSync(join(folder, name), text);
