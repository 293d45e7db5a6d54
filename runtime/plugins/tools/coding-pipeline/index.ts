/** coding_pipeline: a change to a git repository of the workspace, in rounds of edits, checks and reviews, by sub-agents. */

import type { Tool } from "../../../contracts/tool.ts";
import {
  booleanArgument,
  optionalInteger,
  optionalString,
  requireContext,
  stringArgument,
} from "../shared/arguments.ts";
import { type CodingPipelineDeps, runPipeline } from "./pipeline.ts";

const MAX_TASK = 20_000;

export function createCodingPipelineTool(deps: CodingPipelineDeps): Tool {
  const { maxRounds } = deps.settings;
  return {
    name: "coding_pipeline",
    description:
      "Have a change made to a git repository of the workspace: sub-agents plan and edit, the project's own checks are run, a sub-agent " +
      "reviews, and so on until the checks pass and the review accepts. The result says what has changed and how it ended; nothing is " +
      "committed. The sub-agents see nothing of this conversation: say all that they need.",
    parameters: {
      type: "object",
      properties: {
        task: {
          type: "string",
          minLength: 1,
          maxLength: MAX_TASK,
          description: "What is to be changed, and how one sees that it is done.",
        },
        path: {
          type: "string",
          maxLength: 1_000,
          description: "The repository's topmost directory, in the workspace; default the workspace itself.",
        },
        rounds: {
          type: "integer",
          minimum: 1,
          maximum: maxRounds,
          description: `Rounds of edit, checks and review at most; default ${maxRounds}.`,
        },
        allow_dirty: {
          type: "boolean",
          description: "Whether it may begin although there is something uncommitted; default false.",
        },
      },
      required: ["task"],
      additionalProperties: false,
    },
    pathArguments: ["path"],
    execute(args, signal, context) {
      const request = {
        task: stringArgument(args, "task"),
        path: optionalString(args, "path") ?? ".",
        rounds: optionalInteger(args, "rounds", 1, maxRounds) ?? maxRounds,
        allowDirty: booleanArgument(args, "allow_dirty", false),
      };
      return runPipeline(deps, request, requireContext(context), signal);
    },
  };
}
