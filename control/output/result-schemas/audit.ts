/** Results of the commands about the audit log. */

import { z } from "zod";

export const AUDIT_SCHEMAS = {
  "audit-show": z.strictObject({
    directory: z.string(),
    entries: z.array(z.looseObject({ at: z.string(), event: z.string() })).describe("Oldest first."),
  }),
  "audit-verify": z.strictObject({
    directory: z.string(),
    files: z.number(),
    verified: z.number().describe("Lines with a hash that is right."),
    without_hash: z.number().describe("From before the chain, or cut off by a crash."),
    begins_later: z.boolean().describe("Older files were removed when they were past their time."),
    head: z.string().nullable().describe("Hash of the newest line."),
    problems: z.array(z.strictObject({ file: z.string(), line: z.number().nullable(), reason: z.string() })),
  }),
};
