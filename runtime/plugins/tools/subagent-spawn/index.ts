/** subagent_spawn: a task in a session of its own of the same agent, whose reply is the result of the call. */

import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { taskReply } from "../../../domain/task-reply.ts";
import { optionalInteger, optionalNames, requireContext, stringArgument } from "../shared/arguments.ts";

export interface SubagentSettings {
  /** Milliseconds until the wait for a reply ends. */
  readonly timeoutMs: number;
  /** Levels below the turn that a user began. */
  readonly maxDepth: number;
  /** Of one turn at once. */
  readonly maxRunning: number;
  /** Of one sub-agent, with those that it starts. */
  readonly maxTokens: number;
}

/** The port takes 100,000. */
const MAX_TASK = 90_000;
const MAX_TOOLS = 500;
const LEAST_TOKENS = 1_000;

export function createSubagentSpawnTool(settings: SubagentSettings, newId: NewId): Tool {
  const { timeoutMs, maxDepth, maxRunning, maxTokens } = settings;
  const maxS = Math.max(1, Math.floor(timeoutMs / 1_000));
  return {
    name: "subagent_spawn",
    description:
      "Have a task done by a sub-agent: you yourself, in a session of its own that sees nothing of this conversation, so say all that it " +
      "needs. Its reply is the result; what it read on the way does not fill your context. It works in the same workspace, with your " +
      `tools or some of them, and cannot ask the user. Several calls in one reply run at the same time, up to ${maxRunning}.`,
    parameters: {
      type: "object",
      properties: {
        task: {
          type: "string",
          minLength: 1,
          maxLength: MAX_TASK,
          description: "What it is to do, what it needs to know, and what its reply should hold.",
        },
        tools: {
          type: "array",
          maxItems: MAX_TOOLS,
          uniqueItems: true,
          items: { type: "string", minLength: 1, maxLength: 256 },
          description: "Names of the only tools that it may use, of yours; all of them when absent.",
        },
        max_tokens: {
          type: "integer",
          minimum: LEAST_TOKENS,
          maximum: maxTokens,
          description: `Tokens, in and out, after which it is ended; default ${maxTokens}.`,
        },
        timeout_s: {
          type: "integer",
          minimum: 1,
          maximum: maxS,
          description: `Seconds after which it is stopped; default ${maxS}.`,
        },
      },
      required: ["task"],
      additionalProperties: false,
    },
    // What it does is done by its own turn, call by call.
    parallel: true,
    async execute(args, _signal, context) {
      const tools = optionalNames(args, "tools");
      const timeoutS = optionalInteger(args, "timeout_s", 1, maxS);
      const { text } = await requireContext(context).spawn({
        message: stringArgument(args, "task"),
        deadlineMs: timeoutS === undefined ? timeoutMs : timeoutS * 1_000,
        maxDepth,
        atOnce: maxRunning,
        maxTokens: optionalInteger(args, "max_tokens", LEAST_TOKENS, maxTokens) ?? maxTokens,
        ...(tools === undefined ? {} : { tools }),
      });
      return { content: taskReply(text, newId()) };
    },
  };
}
