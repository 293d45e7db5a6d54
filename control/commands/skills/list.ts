import { BaseCommand } from "../../base-command.ts";
import { loadedConfig } from "../../configuration/current.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";
import { listSkills, type SkillEntry } from "../../skills/skills.ts";

export interface SkillListResult {
  readonly skills: readonly SkillEntry[];
}

export default class SkillsList extends BaseCommand<SkillListResult> {
  static override description =
    "List the skills that agents get\n\n" +
    "Skills are folders with a SKILL.md, in skill_dirs and in skills/ of a workspace. One that agents do not get is listed with the " +
    "reason, such as a SKILL.md that cannot be read, or another skill with its name that comes first.";

  static override examples = ["<%= config.bin %> skills list", "<%= config.bin %> skills list --json"];

  protected async work({ signal }: Interruption): Promise<SkillListResult> {
    const { flags } = await this.parse(SkillsList);
    const { config } = await loadedConfig(findDeployment(flags), signal);
    return { skills: await listSkills(config) };
  }

  protected render({ skills }: SkillListResult, mark: Mark): string {
    if (skills.length === 0) return "There are no skills: neither in skill_dirs nor in skills/ of a workspace.";
    return skills
      .map(({ name, description, problem, agents, path }) => {
        const words = problem === null ? visible(description) : mark.error(visible(problem));
        const whose = problem === null ? mark.dim(` (${agents.join(", ") || "no agent has the tool skill_list"})`) : "";
        return `${mark.name(visible(name))}  ${words}${whose}\n  ${mark.dim(visible(path))}`;
      })
      .join("\n");
  }
}
