/** Which skills an agent gets of the folders that there are, and why not the others. */

import type { Skill, SkillFolder, SkillIssue, SkippedSkill } from "../../contracts/skill.ts";
import { SKILL_FILE } from "../../contracts/skill.ts";
import { parseSkill } from "./front-matter.ts";

export interface SkillCatalogue {
  /** By their names. */
  readonly skills: readonly Skill[];
  readonly skipped: readonly SkippedSkill[];
}

export type FoundSkill =
  | { readonly skill: Skill; readonly skipped: null }
  | { readonly skill: null; readonly skipped: SkippedSkill };

/** The skill of a folder, by its SKILL.md. */
export function skillOf({ folder, path, source, content }: SkillFolder): FoundSkill {
  const skip = (problem: string): FoundSkill => ({ skill: null, skipped: { folder, path, source, problem } });
  if (content.text === null) return skip(content.problem);
  const { head, body, issues } = parseSkill(folder, content.text);
  if (head === null) return skip(problemOf(issues));
  return { skill: { ...head, path, source, body }, skipped: null };
}

/**
 * Of several skills with one name the first one: `found` begins with those of `skill_dirs`, in its order, so that nothing in a
 * workspace takes the name of a skill of the operator.
 */
export function catalogueOf(found: readonly FoundSkill[]): SkillCatalogue {
  const skills = new Map<string, Skill>();
  const skipped: SkippedSkill[] = [];
  for (const one of found) {
    if (one.skill === null) {
      skipped.push(one.skipped);
      continue;
    }
    const { name, path, source } = one.skill;
    const first = skills.get(name);
    if (first === undefined) skills.set(name, one.skill);
    else
      skipped.push({
        folder: name,
        path,
        source,
        problem: `another skill has this name and comes first: ${first.path}`,
      });
  }
  return { skills: [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), skipped };
}

/** `SKILL.md, line 3: name must not be empty`. */
export function issueWords({ file, key, line, message }: Omit<SkillIssue, "severity">): string {
  return `${file}${line === null ? "" : `, line ${line}`}: ${key === null ? "it" : key} ${message}`;
}

function problemOf(issues: readonly SkillIssue[]): string {
  const [first] = issues.filter(({ severity }) => severity === "error");
  return first === undefined ? `${SKILL_FILE} cannot be used` : issueWords(first);
}
