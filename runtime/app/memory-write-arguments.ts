import { z } from "zod";
import { isRecord } from "../contracts/values.ts";

/** The arguments of the memory tools that write. */

const MAX_MESSAGES = 10_000;

const role = z.enum(["user", "assistant", "system", "tool"]).describe("Who said it. There is no default.");
const content = z
  .string()
  .default("")
  .describe("The text; may be empty only with tool_name or tool_result. Stored up to 16,000 UTF-16 code units.");
const toolName = z.string().describe("Name of the tool that was called.");
const toolArgs = z.unknown().describe("Arguments of the call, any JSON.");
const toolResult = z.string().describe("What the tool answered. Stored up to 16,000 UTF-16 code units.");
const createdAt = z.string().min(1).describe("ISO 8601 date or time; default now.");

const sessionKey = z
  .string()
  .refine((key) => key.trim() !== "", "must not be blank")
  .describe("Which session it belongs to; the first write opens it.");

const tags = {
  source: z.string().optional().describe("What writes: an integration's name. Default: the node's setting."),
  agent: z.string().optional().describe("Tag of the agent that speaks. Default: the node's setting."),
  channel: z.string().optional().describe("Tag of the place where it was said. Default: the node's setting."),
  persona: z.string().optional().describe("Kept with the row. Default: the node's setting."),
};

export const appendArguments = z.strictObject({
  session_key: sessionKey,
  role,
  content,
  tool_name: toolName.optional(),
  tool_args: toolArgs.optional(),
  tool_result: toolResult.optional(),
  event_id: z
    .string()
    .optional()
    .describe("The same id is stored once. Without one, a message that says the same is stored once."),
  ...tags,
  created_at: createdAt.optional(),
});

const ingestMessage = z.strictObject({
  role,
  content,
  tool_name: toolName.optional(),
  tool_args: toolArgs.optional(),
  tool_result: toolResult.optional(),
  created_at: createdAt.optional(),
  event_id: z
    .string()
    .optional()
    .describe("The same id is stored once. Without one, place and text in the transcript tell."),
  metadata: z.record(z.string(), z.unknown()).optional().describe("Kept with the row."),
});

export const ingestArguments = z.strictObject({
  session_key: sessionKey,
  messages: z.array(ingestMessage).min(1).max(MAX_MESSAGES).describe("The transcript, in order."),
  ...tags,
});

export type AppendArguments = z.output<typeof appendArguments>;
export type IngestArguments = z.output<typeof ingestArguments>;

/** `session_id` is another name of `session_key`; named twice with two values, it is unknown like any other. */
export function withSessionKey(args: unknown): unknown {
  if (!isRecord(args) || !("session_id" in args)) return args;
  const { session_id: id, ...rest } = args;
  const key = rest["session_key"];
  if (key === undefined || key === null || key === id) return { ...rest, session_key: id };
  return args;
}

/** Members of messages that are null count as absent, as those of the arguments do. */
export function withoutNullsInMessages(args: unknown): unknown {
  if (!isRecord(args) || !Array.isArray(args["messages"])) return args;
  const messages = args["messages"].map((message: unknown) =>
    isRecord(message) ? Object.fromEntries(Object.entries(message).filter(([, value]) => value !== null)) : message,
  );
  return { ...args, messages };
}
