import { z } from "zod";
import type { Issue } from "../contracts/errors.ts";
import { MemoryError } from "../contracts/errors.ts";
import { issueWords, withoutRepeats } from "../domain/issue-words.ts";
import { TIME_WINDOWS } from "../domain/time-window.ts";

/** The arguments of the memory tools: one schema each, which validates calls and describes the tool to agents and clients. */

const agent = z.string().min(1).describe("Only rows of this agent.");
const since = z.string().min(1).describe("ISO 8601 date or time, inclusive. A date is the start of that day.");
const before = z.string().min(1).describe("ISO 8601 date or time, exclusive. A date is the start of that day.");
const window = z.enum(TIME_WINDOWS).describe("A span of time by name; instead of since and before.");

export const searchArguments = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(10_000)
    .refine((text) => text.trim() !== "", "must not be blank")
    .describe("What to look for: words, a question, an identifier, or a regular expression in the mode regex."),
  mode: z
    .enum(["hybrid", "fts", "trigram", "regex", "vector"])
    .default("hybrid")
    .describe(
      "hybrid: words, identifiers and meaning together; trigram: similar spelling; regex: PostgreSQL's, any case.",
    ),
  scope: z.enum(["messages", "summaries", "both"]).default("both"),
  limit: z.int().min(1).max(50).default(10),
  agent: agent.optional(),
  since: since.optional(),
  before: before.optional(),
  window: window.optional(),
  expand: z.boolean().default(true).describe("Whether the top summaries come with their children or source messages."),
  synthesize: z
    .boolean()
    .default(false)
    .describe(
      "Whether the language model writes an answer from the results, which takes seconds: its [1] [2] are places in them, its citations their ids. answer_missing says why there is none.",
    ),
});

export const browseArguments = z.strictObject({
  conversation_id: z.guid().optional(),
  session_key: z.string().min(1).optional(),
  agent: agent.optional(),
  channel: z.string().min(1).optional(),
  role: z.enum(["user", "assistant", "system", "tool"]).optional(),
  since: since.optional(),
  before: before.optional(),
  window: window.optional(),
  limit: z.int().min(1).max(200).default(50),
  order: z.enum(["asc", "desc"]).default("desc").describe("By time: desc begins with the newest."),
  cursor: z.string().min(1).optional().describe("next_cursor of the page before."),
});

export const statsArguments = z.strictObject({ agent: agent.optional() });

export const getFullArguments = z.strictObject({ id: z.guid().describe("Id of a message.") });

/** The JSON Schema of a tool's arguments, for providers, MCP and the API description. */
export function parametersOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _version, ...parameters } = z.toJSONSchema(schema, { io: "input" });
  return parameters;
}

/**
 * The validated arguments; members that are null count as absent. MEMORY_INVALID_ARGUMENT lists every issue, and for an
 * unknown name the known ones.
 */
export function parseArguments<Schema extends z.ZodObject>(schema: Schema, args: unknown): z.output<Schema> {
  const parsed = schema.safeParse(withoutNulls(args));
  if (parsed.success) return parsed.data;
  const names = Object.keys(schema.shape);
  const issues = withoutRepeats(parsed.error.issues.flatMap((issue) => toIssues(issue, names)));
  const summary = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  throw new MemoryError("MEMORY_INVALID_ARGUMENT", `The arguments are not valid: ${summary}.`, { issues });
}

function toIssues(issue: z.core.$ZodIssue, names: readonly string[]): Issue[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((path) => ({ path, message: `is not an argument; known are ${names.join(", ")}` }));
  }
  return [{ path: issue.path.map(String).join("."), message: issueWords(issue.message) }];
}

function withoutNulls(args: unknown): unknown {
  if (args === undefined || args === null) return {};
  if (typeof args !== "object" || Array.isArray(args)) return args;
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}
