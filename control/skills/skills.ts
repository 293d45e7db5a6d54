/** `skills list`: the skills of skill_dirs and of the workspaces, who gets them, and why nobody gets the others. */

import type { Config } from "../../runtime/config/index.ts";
import { configuredSkills } from "../../runtime/config/skills.ts";
import type { SkillSource } from "../../runtime/contracts/skill.ts";

export interface SkillEntry {
  /** The folder's, where it cannot be used. */
  readonly name: string;
  readonly description: string;
  readonly triggers: readonly string[];
  readonly license: string | null;
  readonly compatibility: string | null;
  /** Folder of the skill. */
  readonly path: string;
  readonly source: SkillSource;
  /** That get it. */
  readonly agents: readonly string[];
  /** Why agents do not get it; null where it can be used. */
  readonly problem: string | null;
}

/** Sorted by name. What one agent gets and another does not, since that one has another skill of this name, is there twice. */
export async function listSkills(config: Config): Promise<readonly SkillEntry[]> {
  const entries = new Map<string, SkillEntry & { readonly agents: string[] }>();
  const add = (entry: Omit<SkillEntry, "agents">, agents: readonly string[]) => {
    const key = JSON.stringify([entry.path, entry.problem]);
    const present = entries.get(key);
    if (present) present.agents.push(...agents);
    else entries.set(key, { ...entry, agents: [...agents] });
  };
  for (const { agent, offered, skills, skipped } of await configuredSkills(config)) {
    for (const { name, description, triggers, license, compatibility, path, source } of skills) {
      add({ name, description, triggers, license, compatibility, path, source, problem: null }, offered ? [agent] : []);
    }
    for (const { folder, path, source, problem } of skipped) {
      const unread = { description: "", triggers: [], license: null, compatibility: null };
      add({ name: folder || path, ...unread, path, source, problem }, []);
    }
  }
  return [...entries.values()].sort((a, b) => compare(a.name, b.name) || compare(a.path, b.path));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
