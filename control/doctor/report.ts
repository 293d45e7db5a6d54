/** The report as data: the document of `doctor --json`. Fields and ids are only ever added. */

import { z } from "zod";

export const CATEGORIES = [
  "system",
  "config",
  "secrets",
  "workspace",
  "database",
  "memory",
  "queues",
  "providers",
  "channels",
  "deployment",
  "mesh",
  "updates",
] as const;
export type Category = (typeof CATEGORIES)[number];

export const STATUSES = ["pass", "warn", "fail", "skip"] as const;
export type Status = (typeof STATUSES)[number];

const count = z.int().min(0);

const checkReport = z.object({
  id: z
    .string()
    .regex(/^[a-z]+\.[a-z_]+$/)
    .describe("Stable: `<category>.<name>`. New ids may come, known ones stay."),
  category: z.enum(CATEGORIES),
  status: z.enum(STATUSES).describe("skip: the check does not apply here, or what it needs cannot be had."),
  message: z.string().min(1).describe("What was found, as one sentence."),
  detail: z.string().optional().describe("More of it, one thing a line."),
  fix: z.string().optional().describe("What to do next; every warn and every fail has one."),
  follows_from: z
    .string()
    .optional()
    .describe("Id of the check whose problem is the reason of this skip: one cause is one problem."),
  duration_ms: z.number().min(0),
});

const repairReport = z.object({
  check: z.string().describe("Id of the check that asked for it."),
  path: z.string(),
  action: z.enum(["mode", "directory", "create", "change"]),
  outcome: z.enum(["done", "failed"]),
  backup: z
    .string()
    .nullable()
    .describe("Copy of the file as it was; null where there was none, or only its mode changed."),
  error: z.string().optional(),
});

export const reportSchema = z.object({
  schema: z.literal(1),
  version: z.string().describe("Version of the program that checked."),
  node: z.string().describe("Name of the node."),
  status: z.enum(["pass", "warn", "fail"]).describe("The worst of all checks."),
  summary: z.object({ pass: count, warn: count, fail: count, skip: count }),
  checks: z.array(checkReport),
  repairs: z.array(repairReport).optional().describe("Only with --fix: what was changed before these checks."),
});

export type CheckReport = z.infer<typeof checkReport>;
export type RepairReport = z.infer<typeof repairReport>;
export type Report = z.infer<typeof reportSchema>;

/** The summary of a set of checks, and the worst status among them. */
export function summarize(checks: readonly CheckReport[]): Pick<Report, "status" | "summary"> {
  const summary = { pass: 0, warn: 0, fail: 0, skip: 0 };
  for (const { status } of checks) summary[status] += 1;
  return { status: summary.fail > 0 ? "fail" : summary.warn > 0 ? "warn" : "pass", summary };
}

/** JSON Schema (draft 2020-12) of the document; readers must expect fields that it does not name. */
export function reportJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(reportSchema, { io: "input" }), title: "cairn doctor --json" };
}
