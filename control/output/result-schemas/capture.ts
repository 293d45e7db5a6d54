/** Results of the commands of `capture`. */

import { z } from "zod";
import { count, time } from "./parts.ts";

const harness = z.enum(["claude-code", "codex", "opencode"]);

const installed = {
  harness,
  file: z.string(),
  changed: z.boolean(),
  backup: z.string().nullable().describe("Copy of what the file held before"),
  found: z.boolean().describe("Whether the coding assistant has ever run on this machine"),
  next: z.string().nullable().describe("What is left for a person to do"),
};

const replay = {
  stored: count,
  dead: count.describe("Refused by the node for good, and kept"),
  waiting: count,
  reason: z.string().optional().describe("Why the rest waits"),
};

export const CAPTURE_SCHEMAS = {
  "capture-install": z.strictObject({ ...installed, node: z.string().describe("Where the sessions go") }),
  "capture-uninstall": z.strictObject({ ...installed, token_revoked: z.boolean() }),
  "capture-status": z.strictObject({
    harnesses: z.array(
      z.strictObject({
        harness,
        installed: z.boolean(),
        file: z.string(),
        found: z.boolean(),
        problem: z.string().nullable(),
      }),
    ),
    node: z.string().nullable(),
    spool: z.strictObject({
      directory: z.string(),
      waiting: count,
      dead: count,
      bad: count,
      bytes: count,
      oldest: time.nullable(),
    }),
    log: z.string(),
  }),
  "capture-backfill": z.strictObject({
    harness,
    sessions: count,
    events: count,
    failed: z.array(z.strictObject({ session: z.string(), reason: z.string() })),
    waiting: count,
  }),
  "capture-flush": z.strictObject({ ...replay, requeued: count }),
} as const;
