/** What the memory tools of agents have in common: whose memory is seen, and a result that fits into a prompt. */

import type { MemoryTools } from "../../../app/api.ts";
import { MEMORY_TOOL_DEFINITIONS } from "../../../app/memory-tools.ts";
import { CairnError, ToolError } from "../../../contracts/errors.ts";
import type { Visibility } from "../../../contracts/memory.ts";
import type { Tool, ToolContext } from "../../../contracts/tool.ts";
import { requireContext } from "./arguments.ts";
import { compactJson } from "./compact-json.ts";

/**
 * The memory tool of this name as an agent's tool, with the description and the arguments that it has everywhere.
 * `present` makes of the result what the model should read.
 */
export function createMemoryTool(memoryTools: MemoryTools, name: string, present: (result: unknown) => unknown): Tool {
  const definition = MEMORY_TOOL_DEFINITIONS.find((candidate) => candidate.name === name);
  if (!definition) throw new ToolError("TOOL_UNKNOWN", `There is no memory tool ${name}.`);
  return {
    ...definition,
    parallel: true,
    async execute(args, signal, context) {
      const caller = { visibility: visibilityOf(requireContext(context)), ...(signal ? { signal } : {}) };
      try {
        return { content: compactJson(present(await memoryTools.call(name, args, caller))) };
      } catch (error) {
        throw asToolError(error);
      }
    },
  };
}

/** The owner sees everything; everyone else the conversations of the same user on the same channel. */
function visibilityOf(context: ToolContext): Visibility {
  return context.owner ? { all: true } : { channel: context.channel, user: context.user };
}

/** Invalid arguments are the model's to correct, and the message says how; everything else passes as it is. */
function asToolError(error: unknown): unknown {
  if (!(error instanceof CairnError) || error.code !== "MEMORY_INVALID_ARGUMENT") return error;
  return new ToolError("TOOL_INVALID_ARGUMENTS", error.message, { cause: error, issues: error.details.issues ?? [] });
}
