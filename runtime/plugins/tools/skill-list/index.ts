/** skill_list: the skills, the text of one, or one of its files; each is read when it is needed. */

import type { SkillUse } from "../../../app/skills/skill-use.ts";
import { ToolError } from "../../../contracts/errors.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { optionalString, requireContext } from "../shared/arguments.ts";

export function createSkillListTool(deps: { readonly skills: SkillUse }): Tool {
  return {
    name: "skill_list",
    description:
      "Read skills, which say how to do certain tasks. Without arguments: all of them. With `name`: what the skill says, and the names " +
      "of its files. With `name` and `file`: one of its files.",
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 64, description: "Name of a skill." },
        file: {
          type: "string",
          minLength: 1,
          maxLength: 500,
          description: "A file of the skill, such as references/guide.md.",
        },
      },
      additionalProperties: false,
    },
    parallel: true,
    async execute(args, signal, context) {
      const turn = requireContext(context);
      const name = optionalString(args, "name");
      const file = optionalString(args, "file");
      if (name === undefined) {
        if (file !== undefined) throw new ToolError("TOOL_INVALID_ARGUMENTS", "A file needs the name of its skill.");
        return { content: await deps.skills.list(turn) };
      }
      const content =
        file === undefined ? deps.skills.load(name, turn, signal) : deps.skills.read(name, file, turn, signal);
      return { content: await content };
    },
  };
}
