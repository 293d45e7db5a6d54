/** Parts that the results of several commands share. */

import { z } from "zod";
import { FINDING_CODES } from "../../../runtime/config/finding-codes.ts";

export const count = z.number().int().nonnegative();
export const time = z.iso.datetime({ offset: true });

/** An error as a node or a command reports it. */
export const errorBody = z.looseObject({
  code: z.string(),
  message: z.string(),
  severity: z.enum(["fatal", "error", "warning", "transient"]),
  retryable: z.boolean(),
  hint: z.string().optional(),
});

export const issue = z.strictObject({
  path: z.string(),
  message: z.string(),
  found: z.string().optional(),
  allowed: z.string().optional(),
  hint: z.string().optional(),
  code: z.enum(FINDING_CODES).describe("Kind of the finding; it stays when the words change"),
  line: count.optional().describe("Counted from 1; absent where the issue is not about a place in the file"),
  column: count.optional(),
});

/** What a command that edits cairn.yaml says of the edit. */
export const edit = z.strictObject({
  file: z.string(),
  changed: z.boolean(),
  diff: z.string().describe("Unified diff with secrets taken out; empty when nothing changed"),
  warnings: z.array(issue),
  missing: z.array(z.string()).describe("Variables that the changed file refers to and that are not set yet"),
});

/** What is in the way of a restore. */
export const obstacles = z.array(z.strictObject({ message: z.string(), hint: z.string().nullable() }));
