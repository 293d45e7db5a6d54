/** JSON Schemas of what commands print with `--json`, made from the schemas that the program itself uses. */

import { z } from "zod";
import { SCHEMAS } from "../../control/deploy/schemas.ts";

const BASE = "https://cairn.dev/schemas";

/** File name to text: one file a schema, and the form of every error. */
export function outputSchemas(): ReadonlyMap<string, string> {
  const error = z.strictObject({
    ok: z.literal(false),
    error: z.looseObject({
      code: z.string(),
      message: z.string(),
      severity: z.enum(["fatal", "error", "warning", "transient"]),
      retryable: z.boolean(),
      hint: z.string().optional(),
    }),
  });
  const all = Object.entries({ ...SCHEMAS, error });
  return new Map(
    all.map(([name, schema]) => {
      const made = z.toJSONSchema(schema, { target: "draft-2020-12" });
      return [`${name}.schema.json`, `${JSON.stringify({ $id: `${BASE}/${name}.schema.json`, ...made }, null, 2)}\n`];
    }),
  );
}
