/** Holds documents that commands print against docs/schemas/, as somebody's script would. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";

const SCHEMAS = fileURLToPath(new URL("../../docs/schemas", import.meta.url));

/** What is wrong with a document, by the published schema of that name; null when it is right. */
export function wrongWith(name: string, document: unknown): unknown {
  const schema = JSON.parse(readFileSync(join(SCHEMAS, `${name}.schema.json`), "utf8"));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  return validate(document) ? null : { errors: validate.errors, document };
}
