/** What the memory tools of agents have in common: whose memory is seen, and a result that fits into a prompt. */

import type { MemoryTools } from "../../../app/api.ts";
import { CairnError, ToolError } from "../../../contracts/errors.ts";
import type { Visibility } from "../../../contracts/memory.ts";
import type { Tool, ToolContext } from "../../../contracts/tool.ts";
import { requireContext } from "./arguments.ts";
import { compactJson } from "./compact-json.ts";

export interface MemoryToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: Tool["parameters"];
  /** The result as the model should read it: what it cannot use is left out. Undefined fields do not appear. */
  readonly present: (result: unknown) => unknown;
}

export function createMemoryTool(memoryTools: MemoryTools, spec: MemoryToolSpec): Tool {
  const { name, description, parameters, present } = spec;
  return {
    name,
    description,
    parameters,
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
export function visibilityOf(context: ToolContext): Visibility {
  return context.owner ? { all: true } : { channel: context.channel, user: context.user };
}

/** Invalid arguments are the model's to correct, and the issues say how; everything else passes as it is. */
function asToolError(error: unknown): unknown {
  if (!(error instanceof CairnError) || error.code !== "MEMORY_INVALID_ARGUMENT") return error;
  const issues = error.details.issues ?? [];
  const where = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  return new ToolError("TOOL_INVALID_ARGUMENTS", where === "" ? error.message : `${error.message} (${where})`, {
    cause: error,
    issues,
  });
}
