/** What a decided setup remembers until it is carried out. */
import { z } from "zod";

export const decidedPlan = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      mode: z.enum(["create", "lines", "replace", "update"]),
      /** Hash of the text that an update was made from. */
      expected: z.string().optional(),
    }),
  ),
  secrets: z.array(z.object({ name: z.string(), value: z.string(), comment: z.string() })),
  secretsHead: z.string(),
});

export type DecidedPlan = z.infer<typeof decidedPlan>;
