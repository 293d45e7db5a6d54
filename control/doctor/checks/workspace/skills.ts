/** Whether agents get the skills that are there. */

import { NO_DIRECTORY } from "../../../../runtime/files/skill-folders.ts";
import { visible } from "../../../output/visible.ts";
import { listSkills, type SkillEntry } from "../../../skills/skills.ts";
import { type Check, type Outcome, pass, skip, warn } from "../check.ts";

export const workspaceSkills: Check = {
  id: "workspace.skills",
  subject: "the skills of skill_dirs and of the workspaces",
  async run(context) {
    const all = await listSkills(await context.config());
    // A directory that is missing is a finding of config.directories.
    const skills = all.filter(({ problem }) => problem !== NO_DIRECTORY);
    if (skills.length === 0) return skip("There are no skills.");
    const isReadable = skills.some(({ agents }) => agents.length > 0);
    const skipped = skills.filter(({ problem }) => problem !== null);
    const usable = skills.length - skipped.length;
    if (usable > 0 && !isReadable) return unreadable(skills);
    if (skipped.length === 0)
      return pass(usable === 1 ? "The skill can be used." : `All ${usable} skills can be used.`);
    return warn(
      `Agents do not get ${skipped.map(({ name }) => visible(name)).join(", ")}.`,
      "`cairn skill validate PATH` says what is wrong with a skill; of two with one name rename one.",
      {
        details: skipped.map(({ path, problem }) => `${visible(path)}: ${visible(problem ?? "")}`),
      },
    );
  },
};

/** Those of a workspace may be an agent's own; those of skill_dirs were put there to be read. */
function unreadable(skills: readonly SkillEntry[]): Outcome {
  const given = skills.filter(({ problem, source }) => problem === null && source === "skill_dirs");
  if (given.length === 0) return skip("No agent has the tool skill_list, and so none gets skills.");
  return warn(
    `No agent has the tool skill_list: none can read ${given.map(({ name }) => visible(name)).join(", ")} of skill_dirs.`,
    "Take skill_list out of `tools.exclude` of an agent, or into its `tools.include`; `tools.skill_list.enabled` must not be false.",
  );
}
