/** Writes docs/configuration.md anew: `node scripts/configuration-page.ts`, after a change of the schema. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configurationPage } from "./lib/configuration-page.ts";
import { ROOT } from "./lib/paths.js";

writeFileSync(join(ROOT, "docs", "configuration.md"), configurationPage());
