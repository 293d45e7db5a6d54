/** The published JSON Schema of `cairn doctor --json`. */

import { fileURLToPath } from "node:url";
import { reportJsonSchema } from "../../../control/doctor/report.ts";

export const SCHEMA_FILE = fileURLToPath(new URL("../../../docs/schemas/doctor.schema.json", import.meta.url));

export function schemaText(): string {
  return `${JSON.stringify(reportJsonSchema(), null, 2)}\n`;
}
