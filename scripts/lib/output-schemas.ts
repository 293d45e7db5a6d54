/** JSON Schemas of what commands print with `--json`, made from the schemas that the program itself uses. */

import { z } from "zod";
import { SCHEMAS } from "../../control/deploy/schemas.ts";
import { RESULT_SCHEMAS } from "../../control/output/result-schemas/index.ts";
import { errorBody } from "../../control/output/result-schemas/parts.ts";

const BASE = "https://cairn.dev/schemas";

/** File name to text: one file a schema, and the form of every error. */
export function outputSchemas(): ReadonlyMap<string, string> {
  const error = z.strictObject({ ok: z.literal(false), error: errorBody });
  const all = Object.entries({ ...SCHEMAS, ...RESULT_SCHEMAS, error });
  return new Map(
    all.map(([name, schema]) => {
      const made = z.toJSONSchema(schema, { target: "draft-2020-12" });
      return [`${name}.schema.json`, `${JSON.stringify({ $id: `${BASE}/${name}.schema.json`, ...made }, null, 2)}\n`];
    }),
  );
}
