/** The skills of the agents, from `skill_dirs` and their workspaces. */

import type { HookPipeline } from "../app/hooks.ts";
import { createSkillLibrary, type SkillLibrary } from "../app/skills/library.ts";
import { createSkillUse, type SkillUse } from "../app/skills/skill-use.ts";
import { agentWorkspace, type Config } from "../config/index.ts";
import { hasSkills } from "../config/skills.ts";
import type { Logger } from "../contracts/ports.ts";

export interface SkillParts {
  readonly library: SkillLibrary;
  readonly use: SkillUse;
}

/** `hooks` are not there yet: they are made of what tools need, too. */
export function composeSkills(config: Config, hooks: () => HookPipeline, logger: Logger): SkillParts {
  const agents = Object.keys(config.agents).filter((name) => hasSkills(config, name));
  const workspaces = agents.map((name) => agentWorkspace(config, name));
  const library = createSkillLibrary({ skillDirs: config.skill_dirs, workspaces, logger });
  return { library, use: createSkillUse({ library, hooks, logger }) };
}
