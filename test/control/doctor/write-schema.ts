/** Writes docs/schemas/doctor.schema.json anew: `node test/control/doctor/write-schema.ts`, after a change of the report. */

import { writeFileSync } from "node:fs";
import { SCHEMA_FILE, schemaText } from "./published-schema.ts";

writeFileSync(SCHEMA_FILE, schemaText());
