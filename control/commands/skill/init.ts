import { resolve } from "node:path";
import process from "node:process";
import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Mark } from "../../output/terminal.ts";
import { type ScaffoldedSkill, scaffoldSkill } from "../../skills/scaffold.ts";

export default class SkillInit extends BaseCommand<ScaffoldedSkill> {
  static override description =
    "Write a new skill\n\n" +
    "Makes a folder of this name with a SKILL.md that is valid, for you to fill in. Put it below a directory of skill_dirs, or into " +
    "skills/ of a workspace.";

  static override examples = [
    "<%= config.bin %> skill init release-notes",
    "<%= config.bin %> skill init release-notes --in ~/.cairn/workspace/skills",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "Lowercase letters, digits and hyphens" }),
  };

  static override flags = {
    in: Flags.string({ helpValue: "DIR", description: "Directory to make the folder in; default: the current one" }),
  };

  protected async work(): Promise<ScaffoldedSkill> {
    const { args, flags } = await this.parse(SkillInit);
    return scaffoldSkill(resolve(flags.in ?? process.cwd()), args.name);
  }

  protected render({ path }: ScaffoldedSkill, mark: Mark): string {
    const next = `Fill in SKILL.md, then run \`cairn skill validate ${path}\`.`;
    return `${mark.good("Written:")} ${path}\n${next}\nAgents find it below a directory of skill_dirs, and in skills/ of a workspace.`;
  }
}
