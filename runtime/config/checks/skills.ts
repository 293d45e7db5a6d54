/** Skills of `skill_dirs` that no agent can read. */

import type { Config } from "../config.ts";
import type { Finding } from "../report.ts";
import { configuredSkills, hasSkills } from "../skills.ts";

/** Reads the skills only where no agent has them. A trigger loads nothing for an agent without the tool, either. */
export async function checkSkillReaders(config: Config): Promise<Finding[]> {
  const agents = Object.keys(config.agents);
  if (config.skill_dirs.length === 0 || agents.some((agent) => hasSkills(config, agent))) return [];
  const skills = (await configuredSkills(config)).flatMap((one) => one.skills);
  const { size } = new Set(skills.filter(({ source }) => source === "skill_dirs").map(({ path }) => path));
  if (size === 0) return [];
  return [
    {
      path: ["skill_dirs"],
      code: "no-effect",
      message: `no agent has the tool skill_list: none can read ${size === 1 ? "the skill" : `the ${size} skills`} there`,
      hint: "let `tools` of an agent have skill_list, and tools.skill_list be enabled",
    },
  ];
}
