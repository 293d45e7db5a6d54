/** Results of `backup` and `restore`. */

import { z } from "zod";
import { count, obstacles } from "./parts.ts";

const about = {
  file: z.string(),
  created_at: z.string(),
  version: z.string().describe("Of the program that made it"),
  schema_version: count.describe("Of the memory"),
  target: z.string(),
  backend: z.enum(["embedded", "postgres"]),
  nodes: z
    .array(z.string())
    .nullable()
    .describe("Of the deployed stack; null where the node is one of the machine itself"),
  parts: z
    .array(z.strictObject({ name: z.string(), files: count, bytes: count, sha256: z.string() }))
    .describe("The memory, the deployment directory, the home, the nodes"),
  left_out: z.array(z.strictObject({ path: z.string(), reason: z.string() })).describe("What is not in it"),
};

export const BACKUP_SCHEMAS = {
  backup: z.strictObject({
    outcome: z.enum(["written", "verified"]),
    ...about,
    bytes: count.describe("Of the sealed file"),
  }),
  restore: z.strictObject({
    outcome: z.enum(["restored", "possible", "blocked"]).describe("The last two with --check"),
    ...about,
    directory: z.string(),
    home: z.string(),
    counts: z.record(z.string(), count).describe("Rows of each section of the memory"),
    tokens: z.array(z.string()).describe("API tokens that work again"),
    archives: z.array(z.string()).describe("Of the nodes of a deployed stack, kept as files"),
    former_paths: z
      .array(z.string())
      .describe("Paths in cairn.yaml that lead to where the deployment was, and not into what is restored"),
    goes_on_at: z
      .enum(["memory", "placing"])
      .nullable()
      .describe(
        "Where a killed restore of this backup is gone on with: its memory is compared with the store, or all is filled; null: " +
          "from the beginning",
      ),
    obstacles,
    taken_address: z
      .string()
      .nullable()
      .describe(
        "With --check: where the restored node would listen and something does already; it hinders the start alone",
      ),
  }),
} as const;
