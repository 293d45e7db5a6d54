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
    "List the skills of skill_dirs and of the workspaces\n\n" +
    "A skill is a folder with a SKILL.md, whose front matter names and describes it. One that cannot be used is listed with the reason.";

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
        const whose = agents.length === 0 ? "" : mark.dim(` (${agents.join(", ")})`);
        return `${mark.name(visible(name))}  ${words}${whose}\n  ${mark.dim(path)}`;
      })
      .join("\n");
  }
}
